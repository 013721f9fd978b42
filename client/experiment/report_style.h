// How the HTML report looks.
#pragma once

#include <string_view>

namespace sbump {

// CSS without a character that XML would take: no <, & or ]]>. The colours of groups are those of
// Okabe and Ito, which people see apart who see few colours; in the dark they are lighter.
extern const std::string_view kReportStyle;

}  // namespace sbump
