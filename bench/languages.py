"""Texts of many scripts, made of each language's frequent words: the same for the same seed.

Words follow Zipf's law over the list, sentences have 5 to 16 words, a capital at the start where the script has
capitals, commas, and paragraphs that end with a line feed. What decides how fast a text is read is in them as often
as in print: accents, capitals, wide punctuation, vowel signs, quotation marks, emoji.
"""

import random
from dataclasses import dataclass
from itertools import accumulate

ENGLISH = """
the of and to in a is that for it as was with be by on not he I this are or his from at which but have an had they
you were their one all we can her has there been if more when will would who so no said out up into them then she
many some these him time two may first any my now other what your only water people could new over such our over
world because between house through during number company million business government development information
"""

FRENCH = """
de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont la où même été être
très après aussi comme mais leur avec cette entre fait année années pays état société président français française
politique première dernière déjà marché question général économie problème début côté système développement
différents élève école université théâtre musée hôpital forêt île août Noël Europe garçon leçon façon reçu naïf
l'été d'une qu'il c'est aujourd'hui n'a s'est jusqu'à Paris rôle intérêt peut-être numéro réseau père mère élections
"""

GERMAN = """
der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass
sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch
man sein wurde sei Prozent hatte kann gegen vom können schon wenn habe seine Mark ihre dann unter wir soll ich eines
Jahr zwei Jahren diese dieser wieder keine Uhr seiner worden will zwischen immer Millionen was sagte Größe Straße
außerdem müssen während große Gesellschaft Regierung Österreich Übung möglich natürlich Bürger Gespräch heißt weiß
Länder Städte größer schließlich Maßnahmen Entwicklung Unternehmen Wirtschaft Präsident Zusammenarbeit
"""

POLISH = """
w i na z się do nie to jest że o jak po co za od przez ale dla tak czy już być był była było może tylko jego jej ich
ze przy także które który która można oraz lub bardzo jeszcze więc są też nawet roku latach lat czas człowiek życie
świat państwa miasto wszystko później między również został została należy właśnie pierwszy władza część społeczeństwo
rząd źródło łódź ręce książka żołnierz ciągu święto dzień miesiąc tydzień środę piątek gość sześć dziewięć Łódź Kraków
Gdańsk Wrocław Poznań województwo ministerstwo działalność przedsiębiorstwo odpowiedź możliwość
"""

VIETNAMESE = """
và của là có được trong cho một với các không người những đã để khi này đến từ về như ra vào năm ở cũng tại theo nhiều
hơn phải làm trên sẽ đó nhưng còn việc thì rất nước bị sau công ông lại nhà ngày chỉ mới hai đầu trước tôi nên thể
đang thành phố Việt Nam đồng tỉnh chính quốc gia hội kinh tế phát triển đường xã học sinh trường đại học sản xuất
quan hệ chúng thời gian cuộc sống bộ phận điều kiện xây dựng quyền lợi hoạt động tiếng nghĩa cần biết đều thấy nói
Hà Nội Sài Gòn Đà Nẵng giáo dục sức khỏe thị trường doanh nghiệp hàng hóa mùa xuân
"""

RUSSIAN = """
и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой что весь год от так о для ты же
все тот мочь вы человек такой его сказать только или ещё бы себя один как уже до время если сам когда другой вот
говорить наш мой знать стать при чтобы дело жизнь кто первый очень два день её новый рука даже во со раз где там под
можно ну какой после их работа без самый потом надо хотеть ли слово идти большой должен место иметь ничто лицо Россия
Москва государство общество правительство развитие система вопрос сторона страна мир случай голова ребёнок сила
"""

GREEK = """
και το να του η της με που την από για τα είναι των σε ο οι στο θα τη στην τον τους δεν τις ένα μια ότι στη κατά μας
αυτό όπως στις ως αλλά στα πολύ μετά ή προς αν μόνο μπορεί πρέπει χρόνια άλλα όμως έχει έχουν ήταν μου σας κάθε όταν
δύο πρώτη μεγάλη ζωή κόσμος άνθρωπος άνθρωποι χώρα πόλη κυβέρνηση ημέρα σήμερα γιατί ώρα τρόπος μέρος θέμα λόγος
πρόεδρος υπουργός οικονομία ανάπτυξη εκπαίδευση πανεπιστήμιο σχολείο δρόμος Αθήνα Ελλάδα Ευρώπη Θεσσαλονίκη
τελευταία σύστημα πρόβλημα εταιρεία εκατομμύρια σχέσεις δυνάμεις
"""

ARABIC = """
في من على إلى أن عن مع هذا التي الذي كان هذه ما لا أو بعد كل قد ذلك بين لم هو هي كما عام حيث قال حتى إذا يوم خلال
أكثر غير عند منذ أي وقد كانت بها له فيها منها عليه الله الأول محمد الدولة الرئيس مدينة العالم الناس الوقت الحكومة
المتحدة العربية السياسية الاقتصادية العام الماضي الجديد الكبير مليون سنة جامعة مدرسة كتاب بيت ماء طريق حياة عمل
وزير شركة نظام تاريخ علم قوة حرب سلام حق رجل امرأة طفل أسرة شعب وطن لغة كلمة القاهرة بغداد دمشق المغرب السعودية
"""

HINDI = """
के में की है और से का को पर इस होता कि जो कर मे गया करने किया लिये अपने ने बनी नहीं तो ही या एवं दिया हो इसका था
द्वारा हुआ तक साथ करना वाले बाद लिए आप कुछ सकते किसी ये इसके सबसे इसमें थे दो होने वह वे करते बहुत कहा वर्ग कई
करें होती अपनी उनके थी यदि हुई जा ना इसे कहते जब होते कोई हुए व न अभी जैसे सभी करता उनकी तरह उस आदि कुल एस रहा
भारत सरकार प्रधानमंत्री राष्ट्र विश्व समय लोग जीवन क्षेत्र राज्य दिल्ली हिन्दी भाषा शिक्षा विद्यालय पुस्तक
स्वास्थ्य मुख्य प्रदेश संविधान अर्थव्यवस्था बड़ा लड़का पढ़ना सड़क ज़रूर
"""

CHINESE = """
的 是 在 不 了 有 和 人 这 中 大 为 上 个 国 我 以 要 他 时 来 用 们 生 到 作 地 于 出 就 分 对 成 会 可 主 发 年 动 同
工 也 能 下 过 子 说 产 种 面 而 方 后 多 定 行 学 法 所 民 得 经 十 三 之 进 着 等 部 度 家 电 力 里 如 水 化 高 自 二
理 起 小 物 现 实 加 量 都 两 体 制 机 当 使 点 从 业 本 去 把 性 好 应 开 它 合 还 因 由 其 些 然 前 外 天 政 四 日 那
社会 中国 经济 发展 问题 政府 工作 我们 他们 没有 自己 北京 上海 人民 国家 技术 企业 市场 教育 科学 文化 历史 世界
"""

JAPANESE = """
の に は を た が で て と し れ さ ある いる も する から な こと として い や れる など なっ ない この ため その あっ よう
また もの という あり まで られ なる へ か だ これ によって により おり より による ず なり られる において ば なかっ なく
しかし について せ だっ その後 できる それ ので なお のみ でき き つ における および いう さらに でも ら たり その他 に関する
日本 東京 大阪 世界 時間 会社 学校 先生 電車 コンピュータ テレビ インターネット サービス システム ニュース メートル
政府 経済 社会 技術 教育 歴史 文化 問題 開発 研究 大学 人間 今日 新しい 大きい 考える 思う 見る 行く 食べる
"""

KOREAN = """
이 그 저 것 수 등 및 더 또 때 한 할 있는 있다 하는 하고 위해 대한 대해 통해 따라 함께 가장 많은 다른 모든 우리 사람 사람들
때문에 그리고 그러나 하지만 지금 오늘 내일 어제 시간 나라 정부 사회 경제 문화 교육 학교 대학교 선생님 학생 회사 기술 개발
문제 서울 부산 한국 세계 역사 정치 대통령 국민 생활 가족 친구 아이들 여자 남자 음식 건강 병원 자동차 도시 지역 환경 에너지
있습니다 했습니다 합니다 것으로 것이다 나타났다 밝혔다 말했다 전했다 이라고 에서는 으로 까지 부터 보다 처음 마지막 새로운
"""

TYPOGRAPHIC = (
    ENGLISH
    + """
don’t it’s we’re can’t I’m that’s “yes” “well” — … 😀 👍🏽 🎉 café ❤️ ‘so’ 👨‍👩‍👧 – naïve
"""
)


@dataclass(frozen=True)
class Language:
    name: str
    words: str
    space: str = " "
    comma: str = ", "
    stop: str = ". "


LANGUAGES = (
    Language("English", ENGLISH),
    Language("English, curly quotes and emoji", TYPOGRAPHIC),
    Language("French", FRENCH),
    Language("German", GERMAN),
    Language("Polish", POLISH),
    Language("Vietnamese", VIETNAMESE),
    Language("Russian", RUSSIAN),
    Language("Greek", GREEK),
    Language("Arabic", ARABIC, comma="، "),
    Language("Hindi", HINDI, stop="। "),
    Language("Chinese", CHINESE, space="", comma="，", stop="。"),
    Language("Japanese", JAPANESE, space="", comma="、", stop="。"),
    Language("Korean", KOREAN),
)


def texts(language: Language, count: int, size: int, seed: int = 1):
    """`count` texts of about `size` bytes each."""
    words = list(dict.fromkeys(language.words.split()))
    chances = random.Random(seed)
    # The lists are short, so the most frequent words come less often than Zipf's law has them.
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    for _ in range(count):
        parts, length = [], 0
        while length < size:
            sentence = chances.choices(words, cum_weights=weights, k=chances.randint(5, 16))
            sentence[0] = sentence[0][:1].upper() + sentence[0][1:]
            for at in range(len(sentence) - 1):
                sentence[at] += language.comma if chances.random() < 0.08 else language.space
            sentence[-1] += language.stop.rstrip() + "\n" if chances.random() < 0.2 else language.stop
            parts.append("".join(sentence))
            length += len(parts[-1].encode())
        yield "".join(parts).strip()
