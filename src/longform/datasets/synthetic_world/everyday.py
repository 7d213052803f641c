"""Vocabulary of everyday life: twelve topics, each with nouns by kind, adjectives and verbs.

A line is ``kind: words``; noun kinds are leaves of the taxonomy in :mod:`lexicon`. Person nouns take a regular plural;
verbs are transitive pasts that the topic's persons do to the topic's things, deeds to its persons. A noun in two
topics has two senses.
"""

TOPICS = {
    "harbour": """
        person: sailor captain diver pilot docker rower steward admiral trader smuggler mariner harpooner
        vehicle: boat ship ferry yacht canoe barge tanker raft schooner trawler tugboat dinghy
        tool: net rope anchor sail oar compass rudder lantern hook winch buoy mast
        animal: gull whale crab seal dolphin herring oyster lobster
        container: crate barrel hull
        building: lighthouse dock warehouse shipyard
        water: harbour bay lagoon strait channel estuary
        substance: tar salt driftwood seaweed canvas
        event: regatta voyage shipwreck storm
        land: island cliff beach cape
        adjective: salty tidal wooden drifting sunken coastal foggy rusty broad stormy floating weathered
            seaworthy leaky maritime
        verb: repaired loaded painted steered lowered hauled unloaded launched sank caught towed inspected moored
            salvaged raised""",
    "farm": """
        person: farmer shepherd miller gardener herder beekeeper grower labourer rancher picker ploughman breeder
        plant: apple pear bean cabbage onion carrot plum turnip cherry leek radish melon
        substance: wheat barley hay straw clover manure wool
        animal: cow sheep goat horse hen pig goose donkey
        tool: plough spade rake sickle fork hoe scythe bucket
        vehicle: tractor cart wagon sledge
        building: barn mill stable cottage granary
        land: field meadow orchard pasture vineyard garden
        event: harvest fair roundup
        adjective: fertile green muddy ripe rural golden tame hungry grassy fresh dusty fenced seasonal hardy
            plump
        verb: planted harvested watered sold fed milked gathered ploughed picked fenced weighed stored sowed
            grazed pruned""",
    "music": """
        person: singer drummer composer pianist fiddler conductor dancer organist harpist trumpeter chorister soloist
        instrument: piano violin drum flute harp organ guitar trumpet cello oboe bell horn
        message: song melody hymn ballad chorus symphony waltz lullaby sonata march anthem verse
        event: concert rehearsal festival recital opera
        device: record microphone speaker gramophone
        building: theatre ballroom chapel stage
        adjective: loud gentle slow cheerful lyrical rhythmic choral solemn catchy shrill melodic tuneful
            brassy mellow acoustic
        verb: played performed rehearsed composed recorded sang hummed tuned arranged praised conducted practised
            strummed improvised transposed""",
    "science": """
        person: chemist physicist astronomer engineer inventor researcher analyst botanist geologist technician
            scholar mathematician
        device: telescope microscope battery sensor laser magnet lens engine circuit antenna thermometer rocket
        substance: acid copper helium carbon oxygen sulphur mercury vapour plasma
        object: crystal prism filter valve lever
        measure: voltage theorem formula equation frequency theory
        event: experiment eclipse reaction discovery
        building: laboratory observatory workshop institute
        document: journal diagram chart
        adjective: magnetic precise electric chemical solar complex invisible atomic rare transparent digital
            unstable optical numerical thermal
        verb: measured tested observed improved described analysed copied examined adjusted compared
            studied explained demonstrated donated labelled
        deed: assisted advised quoted contradicted""",
    "kitchen": """
        person: cook baker brewer waiter butcher grocer confectioner taster caterer barista innkeeper dishwasher
        food: pie sausage noodle pancake biscuit dumpling omelette pudding muffin sandwich
        substance: bread soup cheese butter honey jam stew flour sugar
        plant: pepper tomato lemon mushroom pumpkin cucumber chestnut
        container: kettle pan bowl bottle jar basket pot
        tool: knife spoon ladle whisk grater
        furniture: oven table stove cupboard
        building: bakery kitchen tavern restaurant inn
        event: banquet feast picnic breakfast
        adjective: sweet salted spicy sour warm crisp tasty creamy bitter roasted delicious smoked sticky juicy
            savoury
        verb: baked tasted served boiled fried mixed sliced roasted peeled brewed ordered seasoned stirred cooked
            garnished""",
    "mountain": """
        person: climber guide hunter ranger hiker skier trapper explorer camper forester miner pilgrim
        land: mountain valley ridge glacier canyon summit slope cave forest plateau crater gorge
        animal: wolf bear eagle fox deer owl marten lynx
        plant: pine oak fern birch juniper spruce thistle bramble
        substance: moss snow ice granite heather
        water: river waterfall spring lake brook
        tool: tent pickaxe torch snowshoe
        building: cabin hut shelter
        event: avalanche expedition ascent hunt
        adjective: steep snowy rocky wild frozen remote deep narrow windy silent icy dense alpine jagged
            untouched
        verb: carried mapped tracked spotted followed reached surveyed guarded photographed sketched charted
            protected described discovered examined
        deed: guided warned trailed sheltered led""",
    "school": """
        person: teacher pupil student professor librarian writer poet tutor editor printer historian translator
        document: book letter essay poem novel diary map dictionary notebook manuscript textbook atlas
        tool: pencil brush ruler chalk eraser
        furniture: desk bench shelf blackboard
        event: lesson lecture exam debate graduation
        substance: ink paper parchment glue
        measure: grammar algebra geometry spelling
        building: school library college academy classroom
        adjective: clever careful curious printed strict learned famous simple illustrated patient handwritten
            literary difficult clear witty
        verb: wrote read taught translated copied printed edited borrowed reviewed published memorised corrected
            recited annotated quoted""",
    "market": """
        person: merchant banker clerk broker customer lawyer accountant tailor jeweller investor shopkeeper auctioneer
        garment: coat dress hat glove scarf boot shirt belt cloak
        substance: silk leather silver gold linen cotton velvet amber
        document: contract receipt invoice banknote ledger licence
        container: purse parcel sack chest
        event: auction fair sale
        measure: price profit debt loan
        building: market shop bank arcade boutique
        adjective: cheap costly wealthy busy honest elegant profitable foreign generous luxurious fashionable crowded
            valuable imported thrifty
        verb: bought traded exported imported valued shipped exchanged counted auctioned advertised financed
            purchased bargained wrapped delivered""",
    "health": """
        person: doctor nurse surgeon patient pharmacist dentist midwife healer chemist therapist orderly volunteer
        substance: medicine ointment blood serum iodine vaccine gauze
        container: vial ampoule flask
        organ: heart lung bone muscle stomach nerve tooth kidney
        event: fever operation epidemic recovery examination
        tool: bandage syringe needle crutch thermometer stethoscope
        furniture: bed stretcher wheelchair
        building: hospital clinic ward pharmacy surgery
        adjective: healthy sick weak painful sterile contagious swollen mild clean feverish tired wounded chronic
            robust curable
        verb: tested prescribed cleaned ordered prepared sterilised labelled stored measured replaced
            examined disinfected inspected requested washed
        deed: treated cured diagnosed nursed vaccinated rescued monitored bandaged relieved""",
    "building": """
        person: builder mason carpenter architect plumber roofer glazier welder surveyor painter bricklayer electrician
        event: demolition opening inspection
        structure: bridge tower wall roof arch dome gate column staircase tunnel fence chimney
        substance: timber cement glass marble iron plaster concrete
        object: brick stone beam tile plank
        tool: hammer ladder saw drill chisel crane
        furniture: door window floor
        building: castle palace cathedral factory villa
        land: square quarry street
        adjective: tall solid stone ornate ancient modern vaulted sturdy unfinished massive restored domed narrow
            square symmetrical
        verb: built designed restored demolished widened measured decorated carved completed reinforced plastered
            excavated dismantled renovated polished""",
    "sport": """
        person: runner player coach goalkeeper swimmer boxer jockey referee cyclist fencer athlete champion
        event: match race tournament final contest marathon relay derby
        device: ball racket bicycle whistle stopwatch bat
        garment: jersey helmet glove trainer
        tool: hurdle javelin paddle goalpost
        measure: score record medal trophy title pitch
        group: team club league squad crew
        building: stadium gymnasium arena pool pavilion
        substance: rubber turf chalk grass
        adjective: fast strong athletic unbeaten tough skilled fair rival sporting local amateur fearless tireless
            nimble victorious
        verb: carried polished caught tested swung bought dropped lifted threw borrowed
            repaired collected cleaned displayed defended
        deed: trained challenged defeated coached supported celebrated overtook congratulated""",
    "court": """
        person: judge minister soldier senator guard mayor knight spy diplomat queen general prisoner
        document: treaty law decree petition warrant charter verdict
        weapon: sword cannon shield spear rifle
        event: trial election parade battle siege revolt
        group: army council parliament jury regiment
        symbol: crown flag banner seal throne
        building: fortress prison courthouse barracks embassy
        adjective: royal loyal guilty secret public brave military peaceful legal noble armed civil rebellious
            solemn disputed
        verb: guarded displayed hid presented seized examined kept honoured studied carried
            rejected accepted demanded surrendered discussed
        deed: condemned freed elected captured attacked surrounded pardoned interviewed obeyed""",
}


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


GENERIC_ADJECTIVES = _list("old new large small great little fine simple famous pretty plain strange quiet bright good")
PERSON_ADJECTIVES = _list(
    "young angry honest famous shy proud lazy friendly rich poor lonely polite nervous cheerful stubborn gifted "
    "jealous retired foreign widowed patient clumsy talented modest greedy gentle witty loyal elderly ambitious"
)
GENERIC = {  # words of a slot that a topic leaves out
    "being": _list("dog cat sparrow rabbit mouse pigeon"),
    "event": _list("festival meeting ceremony parade visit dinner"),
    "idea": _list("plan rule question custom legend"),
    "stuff": _list("wood water paint sand oil"),
}
