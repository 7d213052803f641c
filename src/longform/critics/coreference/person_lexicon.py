"""Words about persons in English: pronouns, forms of address, first names, nouns, and words that begin no name.

The pronoun sets are those of the released critic of deng2022 (section 5, appendix G); the other lists are ours,
short on purpose: a fuller list of first names is passed to the resolver by whoever has one.
"""

from __future__ import annotations

MALE, FEMALE, PLURAL, NEITHER = "MALE", "FEMALE", "PLURAL", "NONE"  # entity types; "NONE": none of the above


def _words(block: str) -> frozenset[str]:
    return frozenset(block.split())


MALE_PRONOUNS = _words("himself him he his")
FEMALE_PRONOUNS = _words("her she hers herself")
PLURAL_PRONOUNS = _words("them our they yourselves their us you theirs we ourselves themselves ours")
VOTES = (
    dict.fromkeys(MALE_PRONOUNS, MALE) | dict.fromkeys(FEMALE_PRONOUNS, FEMALE) | dict.fromkeys(PLURAL_PRONOUNS, PLURAL)
)
NO_PERSONS = _words("it its cleaves")
PERSON_PRONOUNS = _words(
    """
    Ours thy We Ourselves your Him They herself you myself Myself himself Hers ourselves my Me themselves Her Our
    yourself her ours My Your He Their theirs she thee he Yours Mine mine Theirs Them hers him I us our Themselves
    their His yourselves his they Us we Himself me You them She
    """
)  # case-sensitive, as released: "Herself" and "Thy" are missing there too

THIRD_PERSON = {
    form: VOTES[form]
    for form in "he him his himself she her hers herself they them their theirs themselves".split()  # noqa: SIM905
}
REFLEXIVES = _words("himself herself themselves")
POSSESSIVES = _words("his her their hers theirs")
OBJECT_FORMS = _words("him her them")

ADDRESS = (
    dict.fromkeys(
        _words("mr sir lord king prince duke father brother uncle don herr monsieur count baron mister"), MALE
    )
    | dict.fromkeys(
        _words("mrs ms miss madam lady queen princess duchess mother sister aunt countess baroness dame mme mlle"),
        FEMALE,
    )
    | dict.fromkeys(
        _words(
            """
            dr prof professor captain capt colonel col general gen major maj lieutenant lt sergeant sgt admiral president
            senator sen governor gov mayor judge justice bishop pope rabbi reverend rev saint inspector detective
            officer doctor coach chancellor minister secretary ambassador commander
            """
        ),
        NEITHER,
    )
)
MALE_NAMES = _words(
    """
    james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark donald
    steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan jacob gary nicholas
    eric jonathan stephen larry justin scott brandon benjamin samuel gregory frank alexander raymond patrick jack dennis
    jerry tyler aaron jose henry adam douglas nathan peter zachary kyle walter harold jeremy ethan carl keith roger
    gerald christian terry sean arthur austin noah lawrence jesse joe bryan billy jordan albert dylan bruce willie
    gabriel alan juan logan wayne ralph roy eugene randy vincent russell louis philip bobby johnny bradley martin tom
    jim bob mike bill steve dave dan tim fred simon oliver oscar hugh leonard theodore edgar ernest francis frederick
    harry howard ian ivan karl leo lewis luke max neil norman otto pedro rudolf stanley stuart victor wilhelm hans
    heinrich johann jean pierre jacques carlos luis miguel antonio giovanni giuseppe marco paolo sergei vladimir nikolai
    mohammed ahmed ali omar kenji hiroshi takeshi raj ravi arjun ben sam ted tony nick greg jeff charlie eddie gordon
    graham julian marcus maurice nigel ray robin ross sidney toby warren
    """
)
FEMALE_NAMES = _words(
    """
    mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy betty margaret sandra ashley
    kimberly emily donna michelle carol amanda dorothy melissa deborah stephanie rebecca sharon laura cynthia kathleen
    amy angela shirley anna brenda pamela emma nicole helen samantha katherine christine debra rachel carolyn janet
    catherine maria heather diane ruth julie olivia joyce virginia victoria kelly lauren christina joan evelyn judith
    megan andrea cheryl hannah jacqueline martha gloria teresa ann sara madison frances kathryn janice jean abigail alice
    julia judy sophia grace denise amber doris marilyn danielle beverly isabella theresa diana natalie brittany
    charlotte marie kayla alexis lori jane lucy kate anne annie clara edith eleanor ellen elsie eva fanny florence georgia
    harriet ida irene isabel jenny josephine kathy lillian lily louise lydia mabel maggie marjorie maud molly nora
    pauline peggy phoebe polly rosa rose sally sheila sophie stella sylvia tess vera vivian wendy zoe claire cheryl
    carmen elena francesca giulia helga ingrid lucia natasha olga paula petra sofia svetlana tatiana ursula valentina
    aisha fatima leila priya lakshmi yuki keiko naomi
    """
)
FIRST_NAMES = dict.fromkeys(MALE_NAMES, MALE) | dict.fromkeys(FEMALE_NAMES - MALE_NAMES, FEMALE)

NOUNS = (
    dict.fromkeys(
        _words(
            "man boy father son brother uncle grandfather grandson nephew husband widower king prince lord gentleman actor "
            "boyfriend stepfather businessman policeman fisherman salesman waiter monk priest"
        ),
        MALE,
    )
    | dict.fromkeys(
        _words(
            "woman girl mother daughter sister aunt grandmother granddaughter niece wife widow queen princess lady actress "
            "girlfriend stepmother businesswoman policewoman waitress nun bride heroine maid"
        ),
        FEMALE,
    )
    | dict.fromkeys(_words("parents men women boys girls brothers sisters sons daughters couple twins friends"), PLURAL)
)
ROLES = _words(
    """
    director actor actress producer writer author singer composer musician poet painter artist player coach captain
    president king queen son daughter wife husband father mother brother sister friend lawyer doctor professor student
    detective officer soldier general named called starring stars by with character comedian scientist philosopher
    journalist politician teacher novelist screenwriter boyfriend girlfriend cousin nephew niece uncle aunt
    """
)
SAYING = _words(
    """
    said says asked replied told thought cried answered went came took gave saw knew married died born played plays
    wrote won joined left became moved lives lived who whose felt looked began returned met loved received attended
    """
)
AUXILIARIES = _words("is was has had can could will would does did may might must also")
PARTICLES = _words("de van von der den la le di da du del bin al ten ter")
PLACE_WORDS = _words(
    """
    city county river street road avenue university college school company corporation films pictures studios records
    festival award awards church museum park lake mountain mountains island islands state states kingdom empire republic
    war party league club team band hotel station bridge theatre theater center centre institute association society
    district region province valley bay sea ocean airport hospital library press news times house court square act
    championship cup league season series north south east west northern southern eastern western united new upper lower
    """
)
NO_NAMES = _words(
    """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday english french german spanish italian russian chinese japanese american british
    irish scottish welsh dutch greek roman latin indian african european asian christian jewish muslim catholic
    christmas easter god bible internet america england france germany spain italy russia china japan india africa europe
    london paris rome berlin york chicago washington hollywood boston texas california
    """
)
CLAUSE_WORDS = _words(
    "and but or that who which when while because after before as if where since although though until than so"
)
PREPOSITIONS = _words(
    "in at near of to from with by for on into under over through against between within during about"
)
FUNCTION_WORDS = (
    CLAUSE_WORDS
    | PREPOSITIONS
    | _words(
        """
        the a an this that these those there here it its is was are were be been being has have had do does did not no
        yes he she they we you i him her them us me his their our your my mine what why how whom whose all any both each few
        more most other some such only own same too very can will just should now also however then thus once one two
        three first second several many much every another either neither nor yet still even ever never perhaps
        according additionally despite following later meanwhile moreover oh ah well chapter
        """
    )
)
