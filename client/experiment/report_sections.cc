#include "client/experiment/report_sections.h"

#include "client/experiment/html_text.h"
#include "client/experiment/report_plots.h"
#include "client/human_units.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

std::string Card(std::string_view css, const std::string& inner) {
  return Element("div", StrCat(" class=\"card", css, "\""), inner);
}

std::string Items(const std::vector<std::string>& texts) {
  std::string items;
  for (const std::string& text : texts) items += Element("li", "", Escaped(text));
  return items.empty() ? "" : Element("ul", "", items);
}

std::string AnswerOf(const GroupEstimate& group) {
  std::string text = Element("strong", "", Escaped(ShownName(group.name)));
  text += VerdictHtml(group.verdict) + Escaped(MeaningWords(group));
  return Element("li", "", text);
}

std::string Alarms(const Report& report) {
  std::string alarms;
  const RunEstimate& estimate = report.main.made.estimate;
  if (!estimate.invalid.empty())
    alarms += Card(" alarm", Element("h3", "", "Nothing can be concluded from this run") +
                                 Paragraph(estimate.invalid));
  if (report.file.main->told && report.main.made.result.partial())
    alarms +=
        Card(" notice", Paragraph("It ended early: what follows is of the windows until then."));
  for (const std::string& note : report.notes) alarms += Card(" notice", Paragraph(note));
  return alarms;
}

std::string GroupCard(const ReportedPhase& phase, size_t index) {
  const GroupEstimate& group = phase.made.estimate.groups[index];
  std::string card =
      Element("h3", "", StrCat(Escaped(ShownName(group.name)), " ", VerdictHtml(group.verdict)));
  card += Paragraph(group.why) + Paragraph(MeaningWords(group));
  const bool tested = group.role == GroupRole::kTested;
  const double p = tested ? group.adjusted_p : group.p;
  card += Paragraph(StrCat("Calls per unit: ", Fixed(group.hits_per_unit, 2), ". Blocks: ",
                           group.blocks_used, ". p ", p < 0.001 ? "< 0.001" : "= " + Fixed(p, 3),
                           tested ? ", adjusted for the number of groups." : "."),
                    " class=\"faint\"");
  return Card("", card + DoseHtml(phase, index) + Items(group.warnings));
}

std::string AdditivityOf(const RunEstimate& estimate) {
  const std::string items = Items(AdditivityLines(estimate));
  return items.empty() ? "" : Element("h3", "", "Do their effects add up?") + items;
}

std::string IntrusionOf(const RunEstimate& estimate) {
  if (!estimate.intrusion) return Paragraph("What the probes themselves cost was not measured.");
  const Intrusion& intrusion = *estimate.intrusion;
  const auto& interval = intrusion.ns_per_unit.interval;
  std::string words =
      StrCat("The probes themselves cost ", Percent(intrusion.share),
             " of a unit's time: windows without delay against those without probes, ");
  words += interval ? StrCat("95 % interval ", Percent(interval->low / intrusion.unprobed_ns),
                             " to ", Percent(interval->high / intrusion.unprobed_ns), ".")
                    : "of which there are too few for an interval.";
  if (intrusion.share < 0) words += " Less than nothing is noise.";
  return Paragraph(words + " It is no part of the numbers above.");
}

}  // namespace

std::string HeadSection(const Report& report) {
  const RunFile& file = report.file;
  std::string head =
      Element("h1", "", StrCat("What decides the pace of ", Escaped(ProcessWords(file))));
  std::string about = StrCat("A unit of work: ", MetricWords(file.experiment.metric()), ".");
  if (file.header.unix_ns() != 0)
    about += StrCat(" Measured ", HumanTime(file.header.unix_ns()), " by sbump ",
                    ShownName(file.header.version()), ".");
  head += Paragraph(about, " class=\"faint\"");
  head += Alarms(report);
  std::string answers;
  for (const size_t i : report.main.ranked) {
    const GroupEstimate& group = report.main.made.estimate.groups[i];
    if (group.role == GroupRole::kTested) answers += AnswerOf(group);
  }
  if (!answers.empty()) head += Element("ul", " class=\"answers\"", answers);
  return Element("header", "", head);
}

std::string GroupsSection(const ReportedPhase& phase) {
  std::string cards;
  for (const size_t i : phase.ranked) cards += GroupCard(phase, i);
  return cards;
}

std::string ConfirmationSection(const Report& report) {
  if (!report.confirmation) return "";
  const ReportedPhase& phase = *report.confirmation;
  return Element("h2", "", "Confirmation") +
         Paragraph(
             "The best finding once more, alone and with a fresh seed: this is the number to "
             "quote, as it was not chosen for being large.") +
         RankedHtml(phase) + GroupsSection(phase);
}

std::string WorthSection(const Report& report) {
  const RunEstimate& estimate = report.main.made.estimate;
  std::string warnings = Items(estimate.warnings);
  if (!warnings.empty()) warnings = Element("h3", "", "Warnings") + warnings;
  return Element("h2", "", "What this is worth") + AdditivityOf(estimate) + IntrusionOf(estimate) +
         warnings + Element("h3", "", "What the numbers cannot tell") + Items(CaveatWords());
}

}  // namespace sbump
