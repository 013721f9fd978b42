#include "client/experiment/html_text.h"

#include "client/printable.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// U+FFFE and U+FFFF, which are well-formed and no characters of XML.
bool IsNoCharacter(std::string_view text, size_t at) {
  const std::string_view three = text.substr(at, 3);
  return three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf";
}

std::string_view EntityOf(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

}  // namespace

std::string Escaped(std::string_view text) {
  const std::string printable = Printable(text);
  std::string escaped;
  for (size_t i = 0; i < printable.size(); ++i) {
    if (const std::string_view entity = EntityOf(printable[i]); !entity.empty()) {
      escaped += entity;
    } else if (IsNoCharacter(printable, i)) {
      escaped += "\xef\xbf\xbd";
      i += 2;
    } else {
      escaped += printable[i];
    }
  }
  return escaped;
}

std::string Element(std::string_view tag, std::string_view attributes, std::string_view inner) {
  return StrCat("<", tag, attributes, ">", inner, "</", tag, ">\n");
}

std::string EmptyElement(std::string_view tag, std::string_view attributes) {
  return StrCat("<", tag, attributes, "/>\n");
}

std::string Paragraph(std::string_view text, std::string_view attributes) {
  return Element("p", attributes, Escaped(text));
}

std::string Attribute(std::string_view name, std::string_view value) {
  return StrCat(" ", name, "=\"", Escaped(value), "\"");
}

std::string Number(double value) {
  std::string text = Fixed(value, 3);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string PercentAttribute(std::string_view name, double share) {
  return StrCat(" ", name, "=\"", Number(100 * share), "%\"");
}

}  // namespace sbump
