"""The language of a text, as an ISO 639-1 code: by its script where that says it, else by its most common words.

What a page declares (`lang="en-GB"`) is right more often than not, and wrong wherever somebody took over a template.
So a sample of the text is looked at first. If it clearly is in another language than the one declared, the text is
believed; if the declared one fits about as well (Danish and Norwegian do), the declaration is. Where neither says
anything the answer is empty: a wrong language is worse than none.

Common words tell languages of one script apart after a few lines, and a sample of 600 characters costs 20 µs.
Languages that are not in the tables are known only by their declaration.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

SAMPLE_CHARS = 600
WORDS_MIN = 3  # so many common words are needed to tell anything ...
SHARE_MIN = 0.06  # ... and so many of all words; in most texts it is a quarter to a half
FOREIGN_SHARE_MIN = 0.2  # of all characters, in a script that is not Latin; half of them may be spaces and names
NEAR = 0.7  # a declared language that has this share of the best one's words is as good


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CODES = _names(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz "
    "ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik "
    "io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml "
    "mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd "
    "se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi "
    "vo wa wo xh yi yo za zh zu "
)
# What people write instead: codes of three letters, of countries, and of former times.
_MEANT_BY = {
    "ar": "ara",
    "bg": "bul",
    "ca": "cat",
    "cs": "ces cze cz",
    "da": "dan dk",
    "de": "deu ger",
    "el": "ell gre gr",
    "en": "eng",
    "es": "spa",
    "et": "est",
    "fa": "fas per",
    "fi": "fin",
    "fr": "fra fre",
    "he": "heb iw",
    "hi": "hin",
    "hr": "hrv",
    "hu": "hun",
    "id": "ind in",
    "it": "ita",
    "ja": "jpn jp",
    "ko": "kor",
    "lt": "lit",
    "lv": "lav",
    "nb": "nob",
    "nl": "dut nld",
    "nn": "nno",
    "no": "nor",
    "pl": "pol",
    "pt": "por",
    "ro": "ron rum",
    "ru": "rus",
    "sk": "slk slo",
    "sl": "slv",
    "sr": "srp",
    "sv": "swe",
    "th": "tha",
    "tr": "tur",
    "uk": "ukr ua",
    "vi": "vie",
    "yi": "ji",
    "zh": "chi zho cmn cn",
}
_MEANT = {written: meant for meant, names in _MEANT_BY.items() for written in names.split()}
_PRIMARY = re.compile(r"\s*([a-zA-Z]{2,3})(?![a-zA-Z])")

# Where the letters of a script start and end. It is named after its language where it has only one to speak of.
_SCRIPTS = (
    ("\u0370", "\u03ff", "el"),
    ("\u0400", "\u04ff", "cyrillic"),
    ("\u0561", "\u0587", "hy"),
    ("\u05d0", "\u05ea", "he"),
    ("\u0620", "\u06ff", "arabic"),
    ("\u0904", "\u0939", "hi"),
    ("\u0985", "\u09b9", "bn"),
    ("\u0a05", "\u0a39", "pa"),
    ("\u0a85", "\u0ab9", "gu"),
    ("\u0b85", "\u0bb9", "ta"),
    ("\u0c05", "\u0c39", "te"),
    ("\u0c85", "\u0cb9", "kn"),
    ("\u0d05", "\u0d39", "ml"),
    ("\u0d85", "\u0dc6", "si"),
    ("\u0e01", "\u0e4e", "th"),
    ("\u0e81", "\u0edd", "lo"),
    ("\u1000", "\u102a", "my"),
    ("\u10d0", "\u10fa", "ka"),
    ("\u1200", "\u1357", "am"),
    ("\u1780", "\u17b3", "km"),
    ("\u3041", "\u30fe", "ja"),
    ("\u4e00", "\u9fff", "zh"),
    ("\uac00", "\ud7a3", "ko"),
)
_STARTS = [start for start, _, _ in _SCRIPTS]
_LETTERS_LOOKED_AT = 100
_BEYOND_LATIN = re.compile("[\u0370-\u1fff\u3041-\ud7a3]")

_COMMON = {
    "en": "the of and to in is that for it as was with be by on not he this are or his from at which but have an "
    "had they you were their one all we can her has there been if more when will would who so no",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus "
    "er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber "
    "vor zur bis",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec ou "
    "son aux cette mais ont ses comme nous être vous elle sa été deux même leur fait",
    "es": "de la que el en y a los del se las por un para con no una su al lo como más pero sus le ya o este sí "
    "porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante es son "
    "fue",
    "it": "di e il la che in un a per è una del non sono con si da come le dei nel alla gli della i lo anche ma al "
    "più ha dal delle questo ed o essere stato loro ai suo se nella dell sul tra",
    "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à "
    "seu sua ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era são",
    "nl": "de van het een en in is dat op te zijn met voor niet aan er om ook als dan maar bij uit nog door naar "
    "heeft ze hij wordt over tot of worden kan die deze zo hebben geen al meer wel",
    "sv": "och i att det som en på är av för med den till inte om ett han men var jag sig från vi så kan när år "
    "under ska också efter eller nu sin där vid mot har de hade",
    "da": "og i at det en den til er som på de med af for ikke der var han et har om vi mig men sig fra jeg også "
    "efter kan skal blev ved eller nu over havde hun sin være blive når meget",
    "no": "og i det på som er en til å han av for at med var de ikke den har jeg om et men så seg hun hadde fra vi "
    "du kan da ble ut skal vil ham etter over ved også bare eller være noe bli mot",
    "fi": "ja on ei se että hän oli en mutta ovat kuin myös joka sen kun niin tai jos mitä minä ole sitä hänen nyt "
    "vain jo mukaan voi olla kanssa jotka vuonna",
    "pl": "w i na z się nie do to że jest o od za po jak przez dla ze co ale czy tak są był tym jego by który oraz "
    "być może już tylko również lub które także przed była roku",
    "cs": "a se v na je že s z do o i to jako za by k ve pro jsou však po od která který jeho byl nebo ale tak jen "
    "být podle bylo také jsem při již až může",
    "sk": "a v sa na je že s z do o i to ako za by k vo pre sú však po od ktorá ktorý jeho bol alebo ale tak len "
    "byť podľa bolo aj pri už až môže ktoré boli",
    "hu": "a az és hogy nem is egy ez meg azt csak volt de már még mint ha el vagy kell ki van lehet aki ami fel "
    "olyan majd minden után szerint között lesz",
    "ro": "și de în a la cu pe care nu un o este din că mai pentru se să sau fi au prin ale ca lui dar fost sunt "
    "după al ce acest iar unui ei cel şi",
    "tr": "ve bir bu da de için ile çok o olarak daha gibi kadar olan ne ama en var sonra her ya ancak ise göre "
    "değil diye olduğu mi tarafından büyük veya",
    "id": "yang dan di dari untuk dengan pada ini itu dalam tidak adalah akan oleh ke atau juga telah dapat sebagai "
    "bisa ada karena lebih saat mereka secara tersebut para",
    "vi": "và của là có trong các được cho một những không với người này đã để khi về từ đến tại năm như ra cũng "
    "nhiều",
    "ca": "de la i el que a en els l les per amb un una és del dels al no va com més es o ha però aquest seva són "
    "també ser seu pels entre fou",
    "hr": "i u je na se za da su od s a o kao koji ne iz do bi što po sa to ili ali biti koja bio samo već prema te "
    "kada koje nije",
    "sl": "in v je na se za da so z od po ki s pri ne kot pa tudi ali do bi bil ter o kar še le bo bilo sta",
    "lt": "ir kad į yra iš su tai buvo kaip bet apie ar o per jo nuo dėl prie tik jau po kuris taip gali būti savo",
    "lv": "un ir ar no ka uz par kas tika bija kā vai arī ja to pie tas bet lai gada tā var pēc tikai",
    "et": "ja on ei see et ta oli mis aga ka ning või kui oma kes siis nii välja selle aasta kuid oleks pärast veel",
    "eu": "eta da ez bat du dira zen zuen ere izan dute edo baina hau egin bere urte artean",
    "gl": "de a o que e do da en un para é con non unha os no se na por máis as dos como pero foi ao das ten seu "
    "súa ou",
    "is": "og að í er á sem það var til við af en með um ekki hann fyrir eru ég þá frá hún því",
    "af": "die van en in is het nie dat te vir op met sy was om word aan hy ook wat as n deur maar",
    "sq": "të e në dhe një për me nga që është si më nuk ka u i se së tij kjo por",
}
_COMMON_CYRILLIC = {
    "ru": "и в не на что с по как это к из у за от он так но для же его было все бы только был мы или до если уже "
    "этого при когда чтобы может также они быть еще ее",
    "uk": "і в на що з не до за як та від це для по у й але його є був про він бути або було який також може ми "
    "якщо вони того при із",
    "bg": "и на да в се за от е не са с по ще като си че това които който до или но при има след бе със",
    "sr": "и у је на се за да су од са као који не из до би што по то или али бити која био само већ према",
    "be": "і ў на з не што да як за па гэта для ад яго але быў або пра яны калі таксама якія",
    "mk": "и на во се да за од е со не што како ќе но по или до при кои бил има тоа",
}
# Letters that others added to the Arabic alphabet.
_ARABIC = (("ur", re.compile("[\u0679\u0688\u0691\u06ba\u06d2]")), ("fa", re.compile("[\u067e\u0686\u0698\u06af]")))


def _by_word(words: dict[str, str]) -> dict[str, tuple[str, ...]]:
    table: dict[str, list[str]] = {}
    for language, text in words.items():
        for word in set(text.split()):
            table.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in table.items()}


_LATIN_WORDS, _CYRILLIC_WORDS = _by_word(_COMMON), _by_word(_COMMON_CYRILLIC)
_KNOWN = frozenset((*_COMMON, *_COMMON_CYRILLIC, *(name for _, _, name in _SCRIPTS)))
# Others that are written in a script, if a page says it is one of them.
_SAME_SCRIPT = {
    "ar": _names("fa ur ps ku ug sd"),
    "fa": _names("ar ur ps ku ug sd"),
    "hi": _names("mr ne sa"),
    "bn": _names("as"),
    "he": _names("yi"),
    "am": _names("ti"),
}


def language_of(text: str, declared: str = "") -> str:
    """`declared`: what the page says, as it says it."""
    start = len(text) // 3 if len(text) > 4 * SAMPLE_CHARS else 0  # behind what introduces a long page
    sample = text[start : start + SAMPLE_CHARS]
    said = code(declared)
    script = _script(sample)
    if script in CODES:
        return said if said in _SAME_SCRIPT.get(script, ()) else script
    table = _CYRILLIC_WORDS if script == "cyrillic" else _LATIN_WORDS
    words = sample.lower().split()
    found = Counter([language for word in words if word in table for language in table[word]])
    if not found:
        return said
    (best, most), *_ = found.most_common(1)
    is_sure = most >= WORDS_MIN and most >= SHARE_MIN * len(words)
    if said and (not is_sure or found[said] >= NEAR * most or said not in _KNOWN):
        return said
    return best if is_sure else ""


def code(declared: str) -> str:
    """The ISO 639-1 code in `en-GB`, `EN_us`, `eng`; empty where there is none."""
    found = _PRIMARY.match(declared)
    if found is None:
        return ""
    primary = found[1].lower()
    primary = _MEANT.get(primary, primary)
    return primary if primary in CODES else ""


def _script(sample: str) -> str:
    """The script that most letters are of, or the language where it has a script of its own; empty: Latin."""
    try:
        sample.encode("latin-1")
    except UnicodeEncodeError:
        pass
    else:
        return ""
    letters = _BEYOND_LATIN.findall(sample)
    if len(letters) < FOREIGN_SHARE_MIN * len(sample):
        return ""
    counts = Counter(map(_script_of, letters[:_LETTERS_LOOKED_AT]))
    if counts["ja"] > 0.1 * counts["zh"]:
        return "ja"  # Chinese characters with anything between them that only Japanese has
    (script, _), *_ = counts.most_common(1)
    if script != "arabic":
        return script
    return next((language for language, letters in _ARABIC if letters.search(sample)), "ar")


def _script_of(letter: str) -> str:
    _, end, script = _SCRIPTS[max(0, bisect_right(_STARTS, letter) - 1)]
    return script if letter <= end else ""
