// Parts of the HTML report, each an element or several; empty where there is nothing to say.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "client/experiment/report_model.h"

namespace sbump {

// A page has at most so many cards of groups and rows of windows, whatever the file holds; several
// experiments have an equal share of them.
inline constexpr size_t kMostCards = 200;
inline constexpr size_t kMostRows = 4000;

// `inner` under its title; empty where it is.
std::string Titled(std::string_view heading, std::string_view title, const std::string& inner);
// `css`: of the card's left edge, " alarm" or " notice"; or empty.
std::string Card(std::string_view css, const std::string& inner);

// What it is about, the answers in words, and what is wrong with all of it.
std::string HeadSection(const Report& report);
// Each tested group's answer, or that of a ranking: what matters, and the names of the others.
std::string AnswersOf(const Report& report);

// ---- Of one experiment ----

// A card for each group, in their order; of so many at most.
std::string GroupsSection(const ReportedStage& stage, size_t most_cards);
// The plot of every window, and the table.
std::string WindowsSection(const ReportedStage& stage, size_t most_rows);
std::string PlanSection(const ReportedStage& stage);
// Whether effects add up, what the probes cost, and warnings.
std::string WorthSection(const ReportedStage& stage);

// ---- Of several ----

std::string RankingSection(const Report& report);
// Groups that were opened, each with its parts.
std::string OpenedSection(const Report& report);
// The finding that was tried once more.
std::string ConfirmationSection(const Report& report);

// ---- Of the run ----

// What the numbers cannot tell.
std::string CaveatsSection();
// Machine, processes, and how to do it again.
std::string EnvironmentSection(const Report& report);

}  // namespace sbump
