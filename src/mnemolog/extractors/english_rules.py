"""English patterns of what people say of themselves, and the facts that they mean."""

# ruff: noqa: E501  patterns are read whole

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_PLACE = r"(?P<o>[A-Z][\w'’.-]*(?:,? (?:[A-Z][\w'’.-]*|of|de|la)(?=[\s,.!?]|$))*)"
_O = r"(?P<o>[^,;:.!?()\[\]…—–]+)"
_NAME = r"(?P<o>[A-Z][a-z]+)"
_OFTEN = (
    r"(?: (?:really|just|recently|also|always|still|absolutely|totally|finally|actually|truly|only|now|so|even"
    r"|especially|definitely|genuinely))*"
)
_AM = r"(?:['’]m| am| was|['’]s| is)"
_VERY = r"(?: really| so| also| very| super| still| just)?"
_HAVE = r"(?: have| has|['’]ve got)"
_NOT = r"(?:don['’]t|do not|doesn['’]t|does not)(?: really)?"
_KIN = (
    "wife|husband|partner|boyfriend|girlfriend|fiancée?|mother|mom|mum|father|dad|sister|brother|son|daughter"
    "|best friend|friend|roommate|boss|colleague|coworker|neighbou?r|teacher|grandma|grandmother|grandpa"
    "|grandfather|aunt|uncle|cousin|niece|nephew|dog|cat|puppy|kitten|pet"
)
_WORK = (
    "nurse|doctor|teacher|lawyer|engineer|developer|programmer|designer|writer|author|artist|painter|musician"
    "|chef|cook|baker|student|professor|scientist|researcher|accountant|architect|journalist|photographer"
    "|dancer|actor|actress|therapist|psychologist|counselor|carpenter|plumber|electrician|mechanic|farmer"
    "|pilot|veterinarian|vet|dentist|pharmacist|librarian|manager|consultant|analyst|veteran|single mom"
    "|single dad|single parent|firefighter|police officer|social worker"
)
_PLAYED = (
    "guitar|piano|violin|drums|clarinet|flute|cello|saxophone|trumpet|bass|basketball|soccer|football|tennis"
    "|baseball|hockey|volleyball|golf|chess|badminton|cricket|rugby|video games|board games"
)
_OWNED = (
    "kids?|children|dogs?|cats?|sons?|daughters?|brothers?|sisters?|siblings?|pets?|turtles?|horses?|nieces?"
    "|nephews?"
)
_COUNT = r"an?|one|two|three|four|five|six|\d"
_DID = (
    "went to|visited|attended|joined|signed up for|adopted|bought|won|launched|opened|hosted|volunteered at"
    "|volunteered for|graduated from|applied to|applied for|finished reading|started|finished|completed|painted"
    "|participated in|took part in|performed at|enrolled in|passed|read|watched|wrote|met|made|took|tried|ran"
    "|built|created|organized|organised|baked|cooked|planted|learned|learnt|received|published|recorded"
    "|released|moved into|traveled to|travelled to|flew to|drove to|hiked|donated|submitted|designed|sold"
    "|ordered|booked|invited|celebrated|broke|injured|hurt|saw|got an?"
)
_DOING = (
    "writing|reading|building|learning|practicing|preparing|taking|running|organizing|teaching|studying|creating"
    "|developing|designing|starting|hosting|attending|volunteering|renovating|planting|training|moving|saving"
    "|researching|helping|recording|painting|collecting|restoring|selling|opening|launching|applying"
)
TASTE = "{s}: {o}"


@dataclass(frozen=True, slots=True)
class Rule:
    """What to look for after a subject, and the fact that it means.

    In the templates `{s}` is who, `{o}` what was found, `{k}` and `{v}` a kind and a verb, `{last}` the last
    word. The group `p` is a verb in the present, which has to agree with its subject. `dated`: a date in the
    sentence is the fact's. `own`: only of "I" and "we".
    """

    pattern: re.Pattern[str]
    subject: str
    statement: str
    confidence: float = 0.9
    dated: bool = False
    tombstone: bool = False
    own: bool = False


def _rule(pattern: str, subject: str, statement: str, confidence: float = 0.9, **more: bool) -> Rule:
    return Rule(re.compile(pattern), subject, statement, confidence, **more)


def _ends(pattern: str, subject: str) -> Rule:
    return _rule(pattern, subject, "", dated=True, tombstone=True)


SAID_OF: Sequence[Rule] = [
    _ends(rf" no longer (?:live|lives) in {_PLACE}", "{s}'s home"),
    _ends(rf" {_NOT} live in {_PLACE} any ?more", "{s}'s home"),
    _ends(rf"{_OFTEN} (?:quit|left|lost) my job(?P<o>)", "{s}'s job"),
    _ends(rf" no longer (?:like|love|enjoy)s? {_O}", TASTE),
    _rule(
        rf"{_OFTEN} (?:moved|relocated)(?: from [A-Z]\w+)?(?: back| over| here)? to {_PLACE}",
        "{s}'s home",
        "{s} lives in {o}",
        dated=True,
    ),
    _rule(
        rf"(?:{_OFTEN} (?:live|lives|have lived|has lived)|['’]ve lived|{_AM} (?:living|based)) in {_PLACE}",
        "{s}'s home",
        "{s} lives in {o}",
    ),
    _rule(
        rf"(?:{_AM}(?: originally)?|{_OFTEN}(?: originally)? comes?) from {_PLACE}",
        "{s}'s origin",
        "{s} is from {o}",
    ),
    _rule(rf" (?:grew up|was born|was raised) in {_PLACE}", "{s}'s origin", "{s} is from {o}"),
    _rule(
        rf"(?:{_OFTEN} (?:works?|started working)|{_AM} working)(?: (?:as|in) [\w -]{{3,40}})? (?:at|for) {_PLACE}",
        "{s}'s employer",
        "{s} works at {o}",
        dated=True,
    ),
    _rule(
        rf"(?:{_OFTEN} (?:works?|started working|got a job|got hired)|{_AM} (?:working|employed)) as an? "
        r"(?P<o>[\w-]+(?: [\w-]+){0,3}?)(?= (?:at|for|in|and|but|with)\b|[,.;!?]|$)",
        "{s}'s job",
        "{s}'s job is {o}",
        dated=True,
    ),
    _rule(
        rf"(?:{_AM}|{_OFTEN} became)(?: currently| now)? an? (?P<o>(?:[\w-]+ )?(?:{_WORK}))\b"
        r"(?! (?:of|in the making)\b)",
        "{s}'s job",
        "{s}'s job is {o}",
        0.8,
    ),
    _rule(rf"{_AM} (?P<o>\d{{1,3}}) years old", "{s}'s age", "{s} is {o} years old"),
    _rule(rf"{_AM} allergic to {_O}", "{s}'s allergy to {o}", "{s} is allergic to {o}"),
    _rule(
        rf"(?:{_AM}(?: now)?|{_OFTEN} (?:became|went|turned))(?: an?)? "
        r"(?P<o>vegetarian|vegan|pescatarian|lactose intolerant|gluten-free)\b",
        "{s}'s diet",
        "{s} is {o}",
    ),
    _rule(
        rf"(?:{_AM}|{_OFTEN} got) (?P<o>married|engaged|divorced|widowed)\b",
        "{s}'s marital status",
        "{s} is {o}",
        dated=True,
    ),
    _rule(rf"{_AM} (?:studying|majoring in) {_O}", "{s} studies {o}", "{s} studies {o}", 0.8),
    _rule(rf"{_AM}{_VERY} (?:afraid|scared|terrified) of {_O}", TASTE, "{s} is afraid of {o}"),
    _rule(rf"{_AM} not (?:a (?:big |huge )?fan of|into|fond of|keen on) {_O}", TASTE, "{s} dislikes {o}"),
    _rule(
        rf"{_OFTEN} (?:(?P<p>hates?|dislikes?|detests?)|can['’]t stand|cannot stand) {_O}",
        TASTE,
        "{s} dislikes {o}",
    ),
    _rule(rf"{_OFTEN} {_NOT} (?:like|enjoy|love) {_O}", TASTE, "{s} dislikes {o}"),
    _rule(
        rf"{_AM}{_VERY} (?:into|fond of|passionate about|crazy about|obsessed with|a (?:big |huge )?fan of) {_O}",
        TASTE,
        "{s} likes {o}",
    ),
    _rule(rf"{_OFTEN} (?P<p>loves?|likes?|enjoys?|adores?|prefers?) {_O}", TASTE, "{s} likes {o}", 0.8),
    _rule(rf"{_HAVE} an? (?P<k>{_KIN}),? (?:named|called) {_NAME}", "{s}'s {k}", "{s}'s {k} is {o}"),
    _rule(
        rf"{_HAVE} (?P<o>(?:{_COUNT}) (?:(?:young|little|older|younger|twin) )?(?:{_OWNED}))\b",
        "{s}'s {last}",
        "{s} has {o}",
    ),
    _rule(
        rf"{_OFTEN} (?P<p>plays?) (?:the )?(?P<o>(?:[\w-]+ )?(?:{_PLAYED}))\b",
        "{s} plays {o}",
        "{s} plays {o}",
    ),
    _rule(
        rf"{_OFTEN} (?P<p>wants?) to (?P<o>[a-z]+ [^,;:.!?()…—–]+)",
        "{s} wants to {o}",
        "{s} wants to {o}",
        0.8,
    ),
    _rule(
        rf"(?:['’]m| am|['’]s| is){_VERY} (?P<v>planning (?:on|to)|hoping to|aiming to|saving up (?:to|for)|working on|training for) {_O}",
        "{s} is {v} {o}",
        "{s} is {v} {o}",
        0.8,
    ),
    _rule(rf"{_AM}{_VERY} learning {_O}", "{s} learns {o}", "{s} is learning {o}", 0.8),
    _rule(
        rf"(?:['’]ve| have| has)(?: also| just)? been (?P<v>[a-z]{{2,}}ing(?: to| on| for| with| at| in)?) {_O}",
        "{s} has been {v} {o}",
        "{s} has been {v} {o}",
        0.8,
        own=True,
    ),
    _rule(
        rf"{_OFTEN} went (?P<o>(?:on an? [^,;:.!?()…—–]+|[a-z]+ing\b[^,;:.!?()…—–]*))",
        "{s} went {o}",
        "{s} went {o}",
        0.8,
        dated=True,
        own=True,
    ),
    _rule(
        rf"(?:['’]ve| have)?{_OFTEN} (?P<v>{_DID}) {_O}",
        "{s} {v} {o}",
        "{s} {v} {o}",
        0.8,
        dated=True,
        own=True,
    ),
    _rule(
        rf"(?:['’]m| am|['’]re| are){_OFTEN} (?P<v>{_DOING}) {_O}",
        "{s} is {v} {o}",
        "{s} is {v} {o}",
        0.7,
        own=True,
    ),
]
"""What follows "I", "we" or a name."""

SAID_OF_MINE: Sequence[Rule] = [
    _rule(r"[Mm]y name(?:['’]s| is) " + _NAME, "{s}'s name", "{s}'s name is {o}"),
    _rule(rf"[Mm]y (?P<k>{_KIN})['’]s name is {_NAME}", "{s}'s {k}", "{s}'s {k} is {o}"),
    _rule(rf"[Mm]y (?P<k>{_KIN}),? (?:is )?(?:named|called) {_NAME}", "{s}'s {k}", "{s}'s {k} is {o}"),
    _rule(rf"[Mm]y (?P<k>{_KIN}),? {_NAME}\b(?!['’]s|,? and)", "{s}'s {k}", "{s}'s {k} is {o}", 0.8),
    _rule(
        r"[Mm]y birthday(?:['’]s| is) (?:on )?(?P<o>[\w ,]{3,20})", "{s}'s birthday", "{s}'s birthday is {o}"
    ),
    _rule(
        rf"[Mm]y (?:all-time |absolute )?favou?rite (?P<k>[\w -]{{2,30}}?)(?:['’]s| is| are| has to be| would be) {_O}",
        "{s}'s favorite {k}",
        "{s}'s favorite {k} is {o}",
    ),
]
"""What begins with "my"."""
