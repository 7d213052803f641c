"""Sentence frames of pages about people and films, by section type; a line is one frame and its first mark says which.

``>`` leads, separated by ``|``; ``-`` sentences without persons; ``1`` what one person did; ``2`` what a person did to
another, ``{2}``; ``3`` what a person did with something of ``{2}``'s own. Slots are explained in :mod:`grammar`.
"""

PEOPLE_SECTIONS = {
    "early life": """
        > In those days, | In the winter of {year}, | Back in {Town},
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - the family lived above {a_look} {place} in {Town}
        - the house stood near {a_place} where {agents} {verb} {adj} {things}
        - most children of the street became {agents} or {agents2}
        - the nearest school was {small} kilometres away and taught only the sons of {agents}
        - an uncle kept {a_adj} {thing} and {small} {beings} behind the house
        - books about {things} and {beings} filled the small house
        - the street was full of {agents} who {verb} {adj} {things}
        - money was short and the winters in {Town} were long
        - the local {agents} taught children how to use {things}
        1 grew up among the {agents} of {Town} | learned to draw {adj} {things} at the age of {small}
        1 attended a small school beside the {place} | dreamed of becoming {a_agent}
        1 spent the summers at {a_look} {place} near {Town} | read every book about {beings} and {things}
        1 left school in {year} and worked for {a_mood} {agent}
        2 shared a school desk with {2} | lost a childhood game of {things} against {2} | learned to read from {2}
        2 often played with {2} behind the {place} | was raised beside {2} on {a_look} street
        3 inherited {2} first {thing} from {a_mood} {agent} | hid {2} school {things} in the {place}
        3 broke {2} toy {thing} at the age of {small} | learned about {things} from {2} parents""",
    "career": """
        > In {year}, | After {small} years, | During the {event} of {year}, | Soon afterwards,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - the new post came with {a_look} office and {small} assistants
        - the company sold {adj} {things} to {agents} in {small} towns
        - the office at the {place} employed {small} {agents}
        - the first project was {a_event} for the {agents} of {Town}
        - the work was praised by {agents} and {verb} by nobody
        - the first {adj} {things} were sold in {year}
        - {small} {agents} signed a letter against the plan
        - the new {place} in {Town} was finished after {small} years
        - a report about {things} was read by {number} {agents}
        - the {event} of {year} made the {place} famous
        1 worked as {a_agent} in {Town} from {year} to {year2} | was promoted to chief {agent} in {year}
        1 founded {a_look} {place} for young {agents} | designed {a_adj} {thing} that many {agents} bought
        1 resigned from the {place} in {year} | directed {small} {agents} and {small} {agents2} at the {place}
        1 published a study of {adj} {things} in {year}
        2 hired {2} as {a_agent} in {year} | was appointed to the board by {2} | shared an office with {2}
        2 signed a contract with {2} for {small} {things} | replaced {2} as head of the {place}
        3 presented {2} best {thing} at {a_event} in {Town} | moved {2} office to the {place}
        3 sold {2} patent on {a_adj} {thing} | gave lectures about {2} career in {year}""",
    "personal life": """
        > On holidays, | In later years, | Every summer,
        - the wedding took place at {a_look} {place} in {Town}
        - the couple had {small} children and {a_adj} {being}
        - the house in {Town} was full of {things} and {beings}
        - friends remembered long evenings with {agents} and {agents2}
        - the family moved from {Town} to {Town} in {year}
        - the garden was full of {beings} and broken {things}
        - neighbours complained about the {look} {being}
        - the library of the house held {number} books about {things}
        1 married {a_mood} {agent} from {Town} in {year} | collected {adj} {things} and old {things2}
        1 kept {a_adj} {being} at home | retired to {Town} in {year} | never owned {a_thing}
        1 loved walks to the {place} | died quietly in {Town} in {year}
        2 became engaged to {2} in {year} | wrote many private letters to {2} | spent the holidays with {2}
        2 adopted a child together with {2} | was divorced from {2} in {year} | bought a house beside {2}
        3 cared for {2} mother in {Town} | painted {2} kitchen with {a_look} brush | shared {2} love of {beings}
        3 kept {2} wedding {thing} in {a_look} box""",
    "plot": """
        > In the first scene, | One night, | After the {event}, | In the end, | Meanwhile, | Many years later,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - {a_adj} {thing} disappeared from the {place}
        - the {agents} of a small town feared {a_adj} {being}
        - a storm destroyed the {place} and all its {things}
        - a stranger arrived with {a_adj} {thing} and {small} {beings}
        - the story ended at {a_place} in {Town}
        - nobody believed the {mood} {agent} who saw the {being}
        - the police searched the {place} for the {adj} {thing}
        - a dead {agent} was found between {things} and {things2}
        - {a_mood} {agent} told the {agents2} a terrible secret
        1 found {a_adj} {thing} under the {place} | escaped from the {agents} at midnight
        1 lied about the missing {thing} | fell asleep in {a_look} {place} | woke up beside {a_being}
        1 hid the {thing} from the angry {agents} | discovered the secret of the {place}
        1 dreamed of {things} and {beings} | refused to leave the {place} without the {thing}
        2 fell in love with {2} at {a_event} | saved {2} from {a_mood} {agent} | secretly followed {2} to the {place}
        2 betrayed {2} for {a_adj} {thing} | finally forgave {2} | locked {2} in the {place}
        3 stole {2} {adj} {thing} | swore to find {2} killer | opened {2} letter by mistake
        3 burned {2} {thing} in {a_look} {place} | saw {2} face in the window of the {place}""",
    "cast": """
        > In this film, | For the first time, | As in earlier films,
        - {small} amateur actors from {Town} played the {agents}
        - the trained {being} was lent by {a_mood} {agent}
        - the part of the {mood} {agent} was cut from the film
        - most extras were real {agents} from the {place}
        - the {agents} in the {event} scene spoke with the accent of {Town}
        - the costumes of the {agents} cost {number} crowns
        1 played {a_mood} {agent} who owned {a_thing} | appeared as the {agent} of the {place}
        1 spoke the part of {a_adj} {being} | had a short role as {a_agent} | won the role after {a_event}
        1 trained with {agents} for {small} weeks to play the role
        1 learned to handle {things} for the scene in the {place}
        2 acted beside {2} in {small} scenes | played the rival of {2} | took over the role from {2}
        2 sang a song with {2} at the {place} | refused to kiss {2} in the {event} scene
        3 performed {2} own stunts with {a_thing} | based the role on {2} grandfather
        3 wore {2} {look} costume in every scene | learned {2} lines in {small} days""",
    "production": """
        > In the summer of {year}, | During filming, | On the set, | After {small} weeks of shooting,
        - filming began in {Town} in {year} and lasted {small} weeks
        - the budget was {small} million crowns
        - the {place} was rebuilt in a studio by {agents}
        - the cameras were hidden behind {a_adj} {thing}
        - the studio paid {small} {agents} for advice about {things}
        - the costumes were sewn by {small} {agents} from {Town}
        - the {event} scene took {small} nights and {height} extras
        - the crew {verb} {small} {things} for one short scene
        - heavy rain at the {place} stopped the work for {small} days
        - the {adj} {thing} was made of wood and {stuff}
        1 wrote the script in {small} weeks | edited the film in {a_look} {place} in {Town}
        1 built a model of the {place} for the camera | filmed the {event} with {small} cameras
        1 insisted on real {things} and living {beings} | lost {small} reels of film at the {place}
        2 chose {2} for the camera work | rewrote the last scene with {2} | met {2} while filming at {a_place}
        2 argued with {2} about the budget | borrowed the cameras from {2}
        3 used {2} own {thing} as a prop | filmed in {2} garden for {small} days
        3 paid the crew from {2} savings | asked for {2} help with the {things}""",
    "reception": """
        > At the first showing, | In the newspapers, | At the festival of {Town}, | On its release,
        - it is not true that the {agents} {verb} {adj} {things} in {Town}
        - the film earned {small} million crowns in {year}
        - critics praised the {look} pictures of the {place}
        - the audience laughed at the {adj} {being}
        - one magazine called it {a_look} film about {agents}
        - the reviews of the {event} scene were mixed
        - {small} newspapers printed a picture of the {being}
        - the film was shown to {agents} at the {place} in {Town}
        - the scene with the {adj} {thing} became famous
        - {mood} {agents} demanded that the film be banned
        - a second film about the {place} followed in {year}
        1 won a prize for the best {event} scene | was praised by critics for {look} humour
        1 received {small} letters from angry {agents} | was nominated for {small} awards in {year}
        1 disliked the final version of the film
        2 shared the prize for best actor with {2} | was compared with {2} by critics
        2 thanked {2} in a speech at the {place}
        2 lost the award to {2} in {year}
        3 defended {2} film in the newspapers | called it {2} finest work | read {2} reviews aloud at the {place}
        3 sold {2} prize at an auction in {year}""",
}
