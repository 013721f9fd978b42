// Pieces of HTML that are XML, too: each tag closed, each attribute quoted, and all text that comes
// from a file escaped.
#pragma once

#include <string>
#include <string_view>

namespace sbump {

// Text for within an element or a quoted attribute. It is Printable(), and no character of it is
// one that XML lacks.
std::string Escaped(std::string_view text);

// <tag attributes>inner</tag>, with a newline; `attributes` and `inner` are markup.
std::string Element(std::string_view tag, std::string_view attributes, std::string_view inner);
// <tag attributes/>.
std::string EmptyElement(std::string_view tag, std::string_view attributes);
// <p>text</p>; `text` is not yet escaped.
std::string Paragraph(std::string_view text, std::string_view attributes = "");

// ` name="value"`; `value` is not yet escaped.
std::string Attribute(std::string_view name, std::string_view value);
// Short: at most three decimals. For coordinates, and percentages of them.
std::string Number(double value);
// ` name="12.5%"`: of a share from 0 to 1.
std::string PercentAttribute(std::string_view name, double share);

}  // namespace sbump
