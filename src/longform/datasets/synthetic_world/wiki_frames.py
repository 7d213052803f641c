"""Sentence frames of pages about towns and companies, of abstracts and first sentences; marks as in people_frames."""

from longform.datasets.synthetic_world.people_frames import PEOPLE_SECTIONS

SECTIONS = PEOPLE_SECTIONS | {
    "history": """
        > In {year}, | In the spring of {year}, | During the war, | In those years,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - the first {place} was built in {year} by {agents} from {Town}
        - a fire destroyed the {place} and {small} houses in {year}
        - the town received the right to hold {a_event} in {year}
        - {agents} from {Town} settled here and {verb} {adj} {things}
        - the old {place} was rebuilt after the flood of {year}
        - the railway to {Town} was opened in {year}
        - the {agents} and the {agents2} fought over the {place} for {small} years
        - the {agents} of {Town} {verb} {adj} {things} in {year}
        - the trade in {stuff} made many {agents} rich
        - a treaty with {Town} was signed in the {place}
        - {small} {agents} died in the plague of {year}
        - the {event} of {year} brought {number} visitors to the town
        - the {place} was sold to {a_mood} {agent} for {number} crowns
        - the new road to {Town} was paid for by the {agents}
        - a school for {agents} was opened beside the {place}
        - the town walls were pulled down to make room for {a_place}
        1 ruled the town from {year} to {year2} | led the {agents} in the revolt of {year}
        1 ordered the first {place} to be built | burned the old {place} in {year} | conquered the town in {year}
        2 sold the town to {2} in {year} | was succeeded by {2} | defended the walls against {2}
        2 made peace with {2} after {small} years
        3 built {2} castle beside the {place} | led {2} army to {Town} | gave the town {2} {adj} {thing}
        3 lost {2} lands in the war of {year}""",
    "geography": """
        > As a rule, | According to a survey of {year}, | To this day,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - the town lies {small} kilometres {dir} of {Town} at the foot of {a_look} {place}
        - the highest point is {a_look} hill of {height} metres
        - the river {River} flows past the {place} and into the sea
        - {look} forests of pine and oak cover {small} percent of the area
        - the climate is mild with {small} days of snow in an average year
        - wild {beings} live between the {place} and the border
        - the soil is poor and full of {things} left by {agents}
        - the area covers {height} square kilometres of which {small} are water
        - the {place} lies on the {dir} bank of the river {River}
        - the border with {Town} runs through {a_look} {place}
        - small amounts of {stuff} are found in the hills
        - the town is divided into {small} districts
        - the {dir} road leads past the {place} to {Town}
        - strong winds from the {dir} bring rain in autumn
        - {beings} and {beings2} are common in the fields
        - the lake to the {dir} of the {place} is {small} metres deep
        - the river {River} often floods the streets near the {place}
        1 surveyed the valley of the {River} in {year} | mapped the {small} islands of the lake
        1 drained the wet land near the {place} | planted {small} kinds of trees on the hills
        2 climbed the highest hill with {2} | found the source of the {River} before {2} did
        2 showed {2} the {small} caves of the valley
        3 measured the valley from {2} camp by the river | named a lake after {2} home
        3 drew the coast on {2} {look} map""",
    "demographics": """
        > At the census of {year}, | According to the census, | Among adults, | In the {dir} district,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - there were {number} people and {height} families in the town
        - about {small} percent of the people were {agents} or {agents2}
        - the average age was {small} years
        - {small} percent of the residents spoke a foreign language at home
        - the number of households with {things} rose to {number}
        - the population density was {height} people per square kilometre
        - most residents work as {agents} near the {place}
        - the average income for a household was {number} crowns
        - the town had {small} schools and {height} pupils in {year}
        - the share of {agents} fell from {small} to {small} percent
        - {height} households owned {a_thing}
        - there were {small} men for every {small} women
        - {number} people lived within a mile of the {place}
        - many young {agents} have moved to {Town}
        - {small} percent of the families kept {beings}
        - the oldest resident was {a_agent} who remembered the {event} of {year}
        - one in {small} adults worked with {things} or {stuff}
        1 counted {number} residents in {year} | led the census office for {small} years
        1 published the first list of all families in {year}
        2 compared the figures with those of {2} | prepared the census of {year} with {2}
        2 corrected the numbers of {2} in {year}
        3 added {2} household to the list | found an error in {2} figures for {year}
        3 recorded {2} age as {small} years""",
    "founding": """
        > In {year}, | At the start, | In its first year, | With borrowed money,
        - the firm was started in {a_look} {place} in {Town}
        - the first workers were {small} {agents} and one {agent2}
        - the starting capital was {number} crowns
        - a bank in {Town} lent money for the first {things}
        - the name was taken from {a_look} {place}
        - the first {things} were made of {stuff}
        - {a_mood} {agent} kept the accounts for {small} years
        - the first order came from {agents} in {Town}
        - the old {place} was bought for {number} crowns
        1 started the firm with {small} {agents} | rented {a_look} {place} for the first workers
        1 invested {number} crowns in the young firm | left the firm after {small} months
        2 started the firm together with {2} | borrowed the first {number} crowns from {2}
        2 met the later partner {2} at {a_event}
        3 used {2} garage as the first workshop | sold {2} {thing} to pay the workers
        3 put {2} name on the door""",
    "products": """
        > Since {year}, | For export, | At the trade fair of {year}, | In its newest catalogue,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - the firm makes {adj} {things} for {agents} and {agents2}
        - the best known product is {a_adj} {thing}
        - about {number} {things} are sold each year in {Town}
        - each {thing} is tested by {small} {agents}
        - a cheaper model for {agents} was launched in {year}
        - the {adj} {things} of the firm won a prize in {year}
        - {agents} in {small} countries use its {adj} {things}
        - the {things} are made from {stuff} and glass
        - {a_look} {thing} for children followed in {year}
        - the price of {a_thing} fell to {small} crowns
        - the packaging shows {a_look} {being} beside {a_place}
        1 invented the {look} model in {year} | tested {small} {things} with {agents} | removed the {thing} from sale
        2 designed the {adj} {thing} for {2} | sold the rights to {2} in {year} | showed {2} the newest model
        3 improved {2} design of the {thing} | drew {2} plans for {a_adj} {thing}
        3 sent {2} best {things} to the fair""",
    "management": """
        > Under new leadership, | After the merger, | At the yearly meeting, | Since {year},
        - the board has {small} members and meets in the {place}
        - the head office moved to {a_look} {place} in {year}
        - profits fell by {small} percent after the strike of {year}
        - the shares are owned by {agents} and {agents2}
        - the firm bought a rival from {Town} for {small} million crowns
        - the workers elect {small} {agents} to the council
        - a new factory near {Town} was planned in {year}
        - the yearly report was printed on {height} pages
        - {mood} {agents} called for a strike at the {place}
        1 became chairman in {year} | led the firm through the crisis of {year} | sold {small} percent of the shares
        1 closed the office in {Town} | doubled the wages of the {agents}
        2 replaced {2} as chairman in {year} | was dismissed by {2} after {small} months | advised {2} on the merger
        3 doubled {2} shares in {year} | rejected {2} plan for the firm | took {2} seat on the board""",
}

OPENINGS = {  # by kind of page and by how many persons the first sentence mentions
    "person": (
        "",
        "{1} was {F_job} from {F_birthplace}",
        "{1} was {F_job} from {F_birthplace} who worked with {2}",
        "{1} was {F_job} from {F_birthplace} who wrote about {2} {thing}",
    ),
    "film": (
        "{T} is a {F_release} {genre} film about {agents} in {Town}",
        "{T} is a {F_release} {genre} film directed by {1}",
        "{T} is a {F_release} {genre} film by {1} and {2}",
        "{T} is a {F_release} {genre} film by {1} about {2} {thing}",
    ),
    "city": (
        "{T} is {a_look} {settlement} in {F_region}",
        "{T} is {a_look} {settlement} in {F_region} and the home of {1}",
        "{T} is {a_look} {settlement} in {F_region} that {1} once showed to {2}",
        "{T} is {a_look} {settlement} in {F_region} where {1} has {2} house",
    ),
    "company": (
        "{T} is a company from {F_seat} that makes {things}",
        "{T} is a company from {F_seat} that was led by {1}",
        "{T} is a company from {F_seat} that {1} bought from {2}",
        "{T} is a company from {F_seat} that {1} ran from {2} house",
    ),
}

ABSTRACTS = {  # ``f`` states a fact of the page's own person, ``-`` with an ``F_`` slot one of any other page's title
    "person": """
        > Today, | To this day,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - {small} letters to {agents} in {Town} have survived
        - the story of the {place} is still told by {agents}
        - {a_look} street in {Town} bears the name
        - the {agents} of {Town} remember {a_adj} {thing}
        - a museum in {Town} shows {small} {adj} {things}
        f {1} was born in {F_birth_year}
        f {1} worked for {F_employer}
        f {1} died in {F_death_year}
        f {1} is buried in {F_burial_place}
        1 is known for {a_adj} study of {things} | received the medal of the {place} in {year}
        1 spent {small} years at the {place} in {Town} | was the first {agent} to visit {Town}
        1 is best remembered for {a_look} {thing} | never spoke about the {event} of {year}
        1 lived beside the {place} in {Town} for {small} years | left school at the age of {small}
        2 wrote {small} letters to {2} | is often confused with {2} | learned the trade from {2}
        2 worked closely with {2} | was a rival of {2} for years | greatly influenced the work of {2}
        3 left {2} papers to the library of {Town} | gave {2} {things} to the museum
        3 published {2} letters in {year} | is known for {2} love of {beings} | sold {2} {thing} to a museum""",
    "film": """
        > On its release, | In {year}, | As a rule,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - it was one of the first films about {agents}
        - the film cost {number} crowns and used {small} {things}
        - a restored version was shown in {year}
        - the {adj} {things} of the film are kept in {Town}
        - the film tells of {a_adj} {thing} and {small} {agents}
        - the film was shown at {a_event} in {Town}
        - {T} was produced by {F_studio}
        - {T} is set in {F_setting}
        - {T} runs for {F_length} minutes
        - {T} was filmed in {F_language}
        1 starred as {a_mood} {agent} | wrote the music for the film | produced the film for {number} crowns
        1 cut {small} scenes from the film | spoke to the {agents} of {Town} before filming
        1 showed the film to {agents} in {year} | sang the song about the {thing}
        1 found the {place} that is seen in the film | had the idea for the film at {a_event}
        2 starred with {2} in the {event} scene | met {2} at {a_event} in {Town} | taught {2} to handle {things}
        2 starred with {2} as {agents} | hired {2} for the leading role | sold the story to {2}
        3 based the story on {2} childhood | wrote the music in {2} own studio
        3 called the film {2} best work | lent {2} {thing} to the studio | paid for the film with {2} savings
        3 filmed the first scene in {2} garden""",
    "city": """
        > Today, | As in former times, | Since {year},
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - {agents} and {agents2} meet here for the {event}
        - the {place} is the oldest building of the district
        - most of its {stuff} comes from {Town}
        - a railway joins the town with {Town} in the {dir}
        - the streets are full of {agents} in summer
        - the town is known for its {adj} {things} and its {place}
        - visitors come for the {event} and the {adj} {things}
        - it is a centre for {agents} and {agents2}
        - {T} was founded in {F_founded}
        - {T} has a population of {F_population}
        - {T} lies on the river {F_river}
        - {T} stands {F_elevation} metres above the sea
        - {T} is twinned with {F_twin}
        1 lived here from {year} to {year2} | opened the {place} in {year} | wrote a book about the town
        1 was mayor for {small} years | gave the town its {place} | was born here in {year}
        2 welcomed {2} to the town in {year} | is remembered here together with {2}
        3 built {2} first house beside the {place} | wrote {2} best book here
        3 left {2} money to the town""",
    "company": """
        > Today, | Since {year}, | In recent years,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - the firm also trades in {stuff} and {things}
        - {small} {agents} work in its {place} in {Town}
        - the company sponsors the {event} of {Town}
        - the first {thing} of the firm is shown in a museum
        - the company sells {things} to {agents} in {small} countries
        - its {adj} {things} are used by {agents} and {agents2}
        - {T} was founded in {F_founded}
        - {T} has {F_employees} employees
        - {T} is owned by {F_owner}
        - {T} is best known for its {F_product}
        1 joined the company in {year} | opened the office in {Town} | closed the {place} in {Town}
        1 has led the company since {year} | owns {small} percent of the shares
        2 took over from {2} in {year} | runs the company with {2}
        3 invested {2} savings in the company | gave {2} name to the newest {thing}
        3 moved the company to {2} home town""",
}
