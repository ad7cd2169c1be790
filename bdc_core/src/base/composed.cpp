#include "base/composed.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace bdc {
namespace {

/// A mark, and pairs of characters without and with it.
struct Mark {
  char32_t mark;
  const char* pairs;
};

// clang-format off
constexpr Mark marks[] = {
    {0x0300,
     "AÀEÈIÌOÒUÙaàeèiìoòuùÜǛüǜNǸnǹЕЀИЍеѐиѝĒḔēḕŌṐōṑWẀwẁÂẦâầĂẰăằÊỀêềÔỒôồƠỜơờƯỪưừYỲyỳἀἂἁἃ"
     "ἈἊἉἋἐἒἑἓἘἚἙἛἠἢἡἣἨἪἩἫἰἲἱἳἸἺἹἻὀὂὁὃὈὊὉὋὐὒὑὓὙὛὠὢὡὣὨὪὩὫαὰεὲηὴιὶοὸυὺωὼΑᾺΕῈΗῊ᾿῍ϊῒΙῚ῾῝ϋῢ"
     "ΥῪ¨῭ΟῸΩῺ"},
    {0x0301,
     "AÁEÉIÍOÓUÚYÝaáeéiíoóuúyýCĆcćLĹlĺNŃnńRŔrŕSŚsśZŹzźÜǗüǘGǴgǵÅǺåǻÆǼæǽØǾøǿ¨΅ΑΆΕΈΗΉΙΊΟΌ"
     "ΥΎΩΏϊΐαάεέηήιίϋΰοόυύωώϒϓГЃКЌгѓкќÇḈçḉĒḖēḗÏḮïḯKḰkḱMḾmḿÕṌõṍŌṒōṓPṔpṕŨṸũṹWẂwẃÂẤâấĂẮăắ"
     "ÊẾêếÔỐôốƠỚơớƯỨưứἀἄἁἅἈἌἉἍἐἔἑἕἘἜἙἝἠἤἡἥἨἬἩἭἰἴἱἵἸἼἹἽὀὄὁὅὈὌὉὍὐὔὑὕὙὝὠὤὡὥὨὬὩὭ᾿῎῾῞"},
    {0x0302, "AÂEÊIÎOÔUÛaâeêiîoôuûCĈcĉGĜgĝHĤhĥJĴjĵSŜsŝWŴwŵYŶyŷZẐzẑẠẬạậẸỆẹệỌỘọộ"},
    {0x0303, "AÃNÑOÕaãnñoõIĨiĩUŨuũVṼvṽÂẪâẫĂẴăẵEẼeẽÊỄêễÔỖôỗƠỠơỡƯỮưữYỸyỹ"},
    {0x0304,
     "AĀaāEĒeēIĪiīOŌoōUŪuūÜǕüǖÄǞäǟȦǠȧǡÆǢæǣǪǬǫǭÖȪöȫÕȬõȭȮȰȯȱYȲyȳИӢиӣУӮуӯGḠgḡḶḸḷḹṚṜṛṝαᾱΑᾹ"
     "ιῑΙῙυῡΥῩ"},
    {0x0306, "AĂaăEĔeĕGĞgğIĬiĭOŎoŏUŬuŭУЎИЙийуўЖӁжӂАӐаӑЕӖеӗȨḜȩḝẠẶạặαᾰΑᾸιῐΙῘυῠΥῨ"},
    {0x0307,
     "CĊcċEĖeėGĠgġIİZŻzżAȦaȧOȮoȯBḂbḃDḊdḋFḞfḟHḢhḣMṀmṁNṄnṅPṖpṗRṘrṙSṠsṡŚṤśṥŠṦšṧṢṨṣṩTṪtṫWẆ"
     "wẇXẊxẋYẎyẏſẛ"},
    {0x0308,
     "AÄEËIÏOÖUÜaäeëiïoöuüyÿYŸΙΪΥΫιϊυϋϒϔЕЁІЇеёіїАӒаӓӘӚәӛЖӜжӝЗӞзӟИӤиӥОӦоӧӨӪөӫЭӬэӭУӰуӱЧӴ"
     "чӵЫӸыӹHḦhḧÕṎõṏŪṺūṻWẄwẅXẌxẍtẗ"},
    {0x0309, "AẢaảÂẨâẩĂẲăẳEẺeẻÊỂêểIỈiỉOỎoỏÔỔôổƠỞơởUỦuủƯỬưửYỶyỷ"},
    {0x030A, "AÅaåUŮuůwẘyẙ"},
    {0x030B, "OŐoőUŰuűУӲуӳ"},
    {0x030C, "CČcčDĎdďEĚeěLĽlľNŇnňRŘrřSŠsšTŤtťZŽzžAǍaǎIǏiǐOǑoǒUǓuǔÜǙüǚGǦgǧKǨkǩƷǮʒǯjǰHȞhȟ"},
    {0x030F, "AȀaȁEȄeȅIȈiȉOȌoȍRȐrȑUȔuȕѴѶѵѷ"},
    {0x0311, "AȂaȃEȆeȇIȊiȋOȎoȏRȒrȓUȖuȗ"},
    {0x0313, "αἀΑἈεἐΕἘηἠΗἨιἰΙἸοὀΟὈυὐωὠΩὨρῤ"},
    {0x0314, "αἁΑἉεἑΕἙηἡΗἩιἱΙἹοὁΟὉυὑΥὙωὡΩὩρῥΡῬ"},
    {0x031B, "OƠoơUƯuư"},
    {0x0323,
     "BḄbḅDḌdḍHḤhḥKḲkḳLḶlḷMṂmṃNṆnṇRṚrṛSṢsṣTṬtṭVṾvṿWẈwẉZẒzẓAẠaạEẸeẹIỊiịOỌoọƠỢơợUỤuụƯỰưự"
     "YỴyỵ"},
    {0x0324, "UṲuṳ"},
    {0x0325, "AḀaḁ"},
    {0x0326, "SȘsșTȚtț"},
    {0x0327, "CÇcçGĢgģKĶkķLĻlļNŅnņRŖrŗSŞsşTŢtţEȨeȩDḐdḑHḨhḩ"},
    {0x0328, "AĄaąEĘeęIĮiįUŲuųOǪoǫ"},
    {0x032D, "DḒdḓEḘeḙLḼlḽNṊnṋTṰtṱUṶuṷ"},
    {0x032E, "HḪhḫ"},
    {0x0330, "EḚeḛIḬiḭUṴuṵ"},
    {0x0331, "BḆbḇDḎdḏKḴkḵLḺlḻNṈnṉRṞrṟTṮtṯZẔzẕhẖ"},
    {0x0338,
     "←↚→↛↔↮⇐⇍⇔⇎⇒⇏∃∄∈∉∋∌∣∤∥∦∼≁≃≄≅≇≈≉=≠≡≢≍≭<≮>≯≤≰≥≱≲≴≳≵≶≸≷≹≺⊀≻⊁⊂⊄⊃⊅⊆⊈⊇⊉⊢⊬⊨⊭⊩⊮⊫⊯≼⋠≽⋡⊑⋢⊒⋣"
     "⊲⋪⊳⋫⊴⋬⊵⋭"},
    {0x0342, "ἀἆἁἇἈἎἉἏἠἦἡἧἨἮἩἯἰἶἱἷἸἾἹἿὐὖὑὗὙὟὠὦὡὧὨὮὩὯαᾶ¨῁ηῆ᾿῏ιῖϊῗ῾῟υῦϋῧωῶ"},
    {0x0345,
     "ἀᾀἁᾁἂᾂἃᾃἄᾄἅᾅἆᾆἇᾇἈᾈἉᾉἊᾊἋᾋἌᾌἍᾍἎᾎἏᾏἠᾐἡᾑἢᾒἣᾓἤᾔἥᾕἦᾖἧᾗἨᾘἩᾙἪᾚἫᾛἬᾜἭᾝἮᾞἯᾟὠᾠὡᾡὢᾢὣᾣὤᾤὥᾥὦᾦὧᾧ"
     "ὨᾨὩᾩὪᾪὫᾫὬᾬὭᾭὮᾮὯᾯὰᾲαᾳάᾴᾶᾷΑᾼὴῂηῃήῄῆῇΗῌὼῲωῳώῴῶῷΩῼ"},
    {0x3099,
     "かがきぎくぐけげこごさざしじすずせぜそぞただちぢつづてでとどはばひびふぶへべほぼうゔゝゞカガキギクグケゲコゴサザシジスズセゼソゾタダチヂツヅテデトドハバヒビフブ"
     "ヘベホボウヴワヷヰヸヱヹヲヺヽヾ"},
    {0x309A, "はぱひぴふぷへぺほぽハパヒピフプヘペホポ"},
};
// clang-format on

/// The characters of a text that is valid UTF-8.
std::u32string characters(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t c = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t n = 1; n < length && i + n < text.size(); ++n) {
      c = (c << 6) | (static_cast<unsigned char>(text[i + n]) & 0x3FU);
    }
    out += c;
    i += length;
  }
  return out;
}

void append(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out += static_cast<char>((more == 1 ? 0xC0U : more == 2 ? 0xE0U : 0xF0U) | (c >> (6 * more)));
  for (int n = more - 1; n >= 0; --n) out += static_cast<char>(0x80U | ((c >> (6 * n)) & 0x3FU));
}

using Pairs = std::map<std::pair<char32_t, char32_t>, char32_t>;

const Pairs& pairs() {
  static const Pairs table = [] {
    Pairs out;
    for (const Mark& row : marks) {
      const std::u32string list = characters(row.pairs);
      for (std::size_t n = 0; n + 1 < list.size(); n += 2) out[{list[n], row.mark}] = list[n + 1];
    }
    return out;
  }();
  return table;
}

/// One character for two; 0 when there is none.
char32_t joined(char32_t first, char32_t second) {
  constexpr char32_t lead = 0x1100, vowel = 0x1161, tail = 0x11A7, syllable = 0xAC00;
  if (first >= lead && first < lead + 19 && second >= vowel && second < vowel + 21) {
    return syllable + ((first - lead) * 21 + (second - vowel)) * 28;
  }
  if (first >= syllable && first < syllable + 11172 && (first - syllable) % 28 == 0 && second > tail &&
      second < tail + 28) {
    return first + (second - tail);
  }
  const auto found = pairs().find({first, second});
  return found == pairs().end() ? 0 : found->second;
}

}  // namespace

bool may_be_decomposed(std::string_view text) {
  return text.find_first_of("\xCC\xCD\xE1\xE3") != std::string_view::npos;
}

std::string composed(std::string text) {
  if (!may_be_decomposed(text)) return text;
  std::u32string out;
  for (const char32_t c : characters(text)) {
    const char32_t one = out.empty() ? 0 : joined(out.back(), c);
    if (one != 0) {
      out.back() = one;
    } else {
      out += c;
    }
  }
  std::string bytes;
  for (const char32_t c : out) append(bytes, c);
  return bytes;
}

}  // namespace bdc
