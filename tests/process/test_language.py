"""Which language a text is in: a sentence is enough, and the declaration of a template does not mislead."""

from __future__ import annotations

import pytest

from gossamer.process.markup.language import code, language_of

SAMPLES = {
    "en": "All human beings are born free and equal in dignity and rights, and should act in a spirit of love.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren und sollen einander im Geist begegnen.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits et ils sont doués de raison.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón.",
    "it": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione.",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos, dotados de razão e não só.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw, są oni w tym jak my.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и не только.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і це не все.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "zh": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "ar": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق",
    "fa": "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند و چنین گفته‌اند",
}


SHORT = {
    "en": (
        "The library is closed on Sundays and public holidays.",
        "We will send you the keys tomorrow morning.",
    ),
    "de": (
        "Der Zug nach Hamburg hat heute leider Verspätung.",
        "Bitte bringen Sie zwei Eier und etwas Milch mit.",
    ),
    "fr": (
        "Le marché ouvre chaque samedi devant la mairie.",
        "Nous avons perdu nos clés dans le jardin hier soir.",
    ),
    "es": (
        "Mañana iremos a la playa con nuestros vecinos.",
        "El gato duerme en la silla de la cocina.",
    ),
    "it": (
        "Domani andiamo al mare con gli amici di Paolo.",
        "Il treno per Bologna parte alle sette di sera.",
    ),
    "pt": (
        "Amanhã vamos à praia com os nossos vizinhos.",
        "O comboio chegou atrasado e não havia lugares.",
    ),
    "nl": (
        "De winkel op de hoek is morgen de hele dag gesloten.",
        "Wij wonen sinds kort in een klein huis bij zee.",
    ),
    "sv": (
        "Tåget till Göteborg är tyvärr försenat i dag.",
        "Hon köpte en ny cykel till sin yngsta son.",
    ),
    "da": (
        "Jeg ved ikke, hvad børnene laver efter skole.",
        "Hun købte en ny cykel til sin yngste søn.",
    ),
    "no": (
        "Toget til Bergen er dessverre forsinket i dag.",
        "Jeg vet ikke hva de gjorde etter festen.",
    ),
    "fi": (
        "Juna Tampereelle on valitettavasti myöhässä tänään.",
        "Ostimme torilta mansikoita ja uusia perunoita.",
    ),
    "pl": (
        "Pociąg do Krakowa jest dzisiaj niestety opóźniony.",
        "Kupiliśmy na targu truskawki i młode ziemniaki.",
    ),
    "cs": (
        "Vlak do Brna má dnes bohužel velké zpoždění.",
        "Na trhu jsme koupili jahody a nové brambory.",
    ),
    "sk": (
        "Vlak do Košíc má dnes bohužiaľ veľké meškanie.",
        "Na trhu sme kúpili jahody a nové zemiaky.",
    ),
    "hu": (
        "A szegedi vonat ma sajnos késik egy órát.",
        "Epret és új krumplit vettünk a piacon.",
    ),
    "ro": (
        "Trenul spre Cluj are astăzi o întârziere mare.",
        "Am cumpărat căpșuni și cartofi noi din piață.",
    ),
    "bg": (
        "Влакът за Пловдив днес закъснява с един час.",
        "Купихме от пазара ягоди и пресни картофи.",
    ),
    "ru": (
        "Поезд в Казань сегодня опаздывает на целый час.",
        "Мы купили на рынке клубнику и молодую картошку.",
    ),
    "uk": (
        "Потяг до Львова сьогодні запізнюється на годину.",
        "Ми купили на ринку полуниці та молоду картоплю.",
    ),
    "el": (
        "Το τρένο για τη Θεσσαλονίκη έχει σήμερα καθυστέρηση.",
        "Αγοράσαμε φράουλες από την αγορά.",
    ),
    "tr": (
        "Ankara treni bugün ne yazık ki bir saat gecikecek.",
        "Pazardan çilek ve taze patates aldık.",
    ),
    "ar": (
        "القطار إلى القاهرة متأخر اليوم مع الأسف.",
        "اشترينا الفراولة والبطاطس من السوق.",
    ),
    "he": (
        "הרכבת לחיפה מאחרת היום בשעה שלמה.",
        "קנינו בשוק תותים ותפוחי אדמה.",
    ),
    "ja": (
        "今日は大阪行きの電車が遅れています。",
        "市場でいちごと新じゃがを買いました。",
    ),
    "zh": (
        "今天去上海的火车晚点了一个小时。",
        "我们在市场买了草莓和土豆。",
    ),
    "ko": (
        "오늘 부산으로 가는 기차가 늦어지고 있습니다.",
        "우리는 시장에서 딸기와 감자를 샀어요.",
    ),
    "hi": (
        "दिल्ली जाने वाली गाड़ी आज देर से चल रही है।",
        "हमने बाज़ार से आलू और आम खरीदे।",
    ),
    "th": (
        "รถไฟไปเชียงใหม่วันนี้มาช้าหนึ่งชั่วโมง",
        "เราซื้อสตรอว์เบอร์รีที่ตลาด",
    ),
    "vi": (
        "Chuyến tàu đi Huế hôm nay bị trễ một tiếng.",
        "Chúng tôi mua dâu tây và khoai tây ở chợ.",
    ),
    "id": (
        "Kereta ke Bandung hari ini terlambat satu jam.",
        "Kami membeli stroberi dan kentang di pasar.",
    ),
    "fa": (
        "قطار تهران امروز یک ساعت تأخیر دارد.",
        "ما از بازار توت فرنگی و سیب زمینی خریدیم.",
    ),
    "ca": (
        "El tren de Girona avui arriba amb molt de retard.",
        "Hem comprat maduixes i patates noves al mercat.",
    ),
    "lt": (
        "Traukinys į Kauną šiandien deja vėluoja valandą.",
        "Turguje nusipirkome braškių ir šviežių bulvių.",
    ),
    "lv": (
        "Vilciens uz Daugavpili šodien diemžēl kavējas.",
        "Tirgū mēs nopirkām zemenes un jaunus kartupeļus.",
    ),
    "et": (
        "Tartu rong hilineb täna kahjuks terve tunni.",
        "Ostsime turult maasikaid ja värskeid kartuleid.",
    ),
    "sr": (
        "Воз за Нови Сад данас касни читав сат.",
        "Купили смо јагоде и млади кромпир на пијаци.",
    ),
}


@pytest.mark.parametrize(("language", "texts"), SHORT.items())
def test_one_short_sentence_is_enough(language: str, texts: tuple[str, str]) -> None:
    assert [language_of(text) for text in texts] == [language] * 2
    assert language_of(" ".join(texts) * 30) == language


@pytest.mark.parametrize(("language", "text"), SAMPLES.items())
def test_a_language_is_told_from_a_sentence_whatever_is_declared(language: str, text: str) -> None:
    assert language_of(text) == language
    assert language_of(text, "sv") == language


def test_a_declared_language_that_fits_as_well_is_believed() -> None:
    danish = "Alle mennesker er født frie og lige i værdighed og rettigheder, og de er som en for det hele."
    assert language_of(danish, "nb-NO") == "nb"
    assert language_of("मराठी भाषा ही भारताच्या राज्यांपैकी", "mr") == "mr"


def test_too_little_text_has_the_declared_language_or_none() -> None:
    assert language_of("42", "en-GB") == "en"
    assert language_of("xyzzy plugh") == ""
    assert language_of("") == ""


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("EN_us", "en"),
        ("zh-Hant-TW", "zh"),
        (" de ", "de"),
        ("eng", "en"),
        ("jp", "ja"),
        ("iw", "he"),
        ("x-default", ""),
        ("english", ""),
        ("qq", ""),
        ("und", ""),
        ("", ""),
    ],
)
def test_a_declared_language_is_reduced_to_its_code(declared: str, expected: str) -> None:
    assert code(declared) == expected
