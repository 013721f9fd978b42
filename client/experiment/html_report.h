// A run as one page of HTML for people without sbump: no script, no network, no other file. It
// reads on a phone, on paper, in the dark, and aloud. It is XML, too.
#pragma once

#include <string>

#include "client/experiment/report_model.h"

namespace sbump {

// All text of the file is escaped. At most some tens of megabytes, whatever the file holds.
std::string HtmlReport(const Report& report);

}  // namespace sbump
