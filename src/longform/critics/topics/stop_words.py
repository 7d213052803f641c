"""English function words, written for this project: words that every document uses, whatever its topic."""

from __future__ import annotations

import string

_ARTICLES = "a an the this that these those such same other another each every either neither both all any some no none"
_PRONOUNS = """i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves who whom whose which what whoever whatever whichever one
ones someone somebody something anyone anybody anything everyone everybody everything nobody nothing"""
_PREPOSITIONS = """about above across after against along alongside amid among amongst around as at before behind below
beneath beside besides between beyond by despite down during except for from in inside into like near of off on onto out
outside over past per since than through throughout till to toward towards under underneath until unto up upon versus via
with within without"""
_CONJUNCTIONS = """and but or nor so yet if unless although though because while whereas whether when whenever where
wherever why how once lest provided hence thus therefore however moreover furthermore nevertheless nonetheless otherwise
instead meanwhile then else"""
_VERBS = """am is are was were be been being do does did done doing have has had having can could may might must shall
should will would ought need dare get gets got getting let lets make makes made making go goes went gone going come comes
came coming take takes took taken say says said saying see seen seem seems seemed use used uses using become becomes
became give given gives know known knows"""
_SHORT_FORMS = """isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't cannot couldn't won't
wouldn't shouldn't mustn't i'm i've i'll i'd you're you've you'll he's she's it's we're we've we'll they're they've
they'll that's there's here's what's who's let's ain't"""
_ADVERBS = """again ago almost already also always anyway apart away back barely even ever far first further here
indeed just largely last least less likely mainly many maybe more most mostly much namely nearly never next not now often
only particularly perhaps possibly probably quite rather really several simply sometimes somewhat somewhere soon still
there together too twice usually very well whole etc eg ie viz vs et al few fewer little lot lots own able"""
_NUMBERS = "zero two three four five six seven eight nine ten second third half"

STOP_WORDS = frozenset(
    " ".join([_ARTICLES, _PRONOUNS, _PREPOSITIONS, _CONJUNCTIONS, _VERBS, _SHORT_FORMS, _ADVERBS, _NUMBERS]).split()
) | frozenset(string.ascii_lowercase)
