// Parts of the HTML report, each an element or several; empty where there is nothing to say.
#pragma once

#include <string>

#include "client/experiment/report_model.h"

namespace sbump {

// What it is about, each group's verdict in words, and what is wrong with all of it.
std::string HeadSection(const Report& report);
// A card for each group.
std::string GroupsSection(const ReportedPhase& phase);
// The finding that was tried once more.
std::string ConfirmationSection(const Report& report);
// Whether effects add up, what the probes cost, warnings, and what the numbers cannot tell.
std::string WorthSection(const Report& report);
std::string PlanSection(const Report& report);
// Every window, in numbers.
std::string WindowsTable(const ReportedPhase& phase);
// Machine, processes, and how to do it again.
std::string EnvironmentSection(const Report& report);

}  // namespace sbump
