// What a daemon on another machine answers, as the client shows it: nothing in it may move the
// cursor, start a line, or be wider than the terminal. The first byte picks the message; of an
// attach, each that follows is a message of the stream: its length in a byte, then its bytes.
#include <sys/mman.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "client/findings.h"
#include "client/json_output.h"
#include "client/match_view.h"
#include "client/modules_change.h"
#include "client/modules_view.h"
#include "client/printable.h"
#include "client/session_list.h"
#include "client/session_model.h"
#include "client/session_outcome.h"
#include "client/spans/span_tree.h"
#include "client/spans/span_writer.h"
#include "client/summary.h"
#include "client/table_view.h"
#include "client/update_merger.h"
#include "daemon/base/fd.h"
#include "proto/sbump/v1/control.pb.h"
#include "proto/sbump/v1/modules.pb.h"
#include "tests/fuzz/one_of.h"
#include "tests/fuzz/require.h"

namespace {

namespace v1 = sbump::v1;

constexpr size_t kWidth = 60;

using sbump::Require;
using sbump::With;

void CheckLine(std::string_view line, size_t width = sbump::kUnlimitedWidth) {
  Require(sbump::Printable(line) == line);
  Require(sbump::DisplayWidth(line) <= width);
}

void CheckLines(const std::vector<std::string>& lines, size_t width = sbump::kUnlimitedWidth) {
  for (const std::string& line : lines) CheckLine(line, width);
}

void CheckText(std::string_view text) {
  Require(text.ends_with('\n'));
  while (!text.empty()) {
    const size_t end = text.find('\n');
    CheckLine(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

void CheckJson(const google::protobuf::Message& message) {
  const std::string line = sbump::JsonLine(message);
  Require(line.find('\n') == line.size() - 1);
}

void FuzzStream(std::string_view input) {
  sbump::UpdateMerger merger;
  sbump::SessionModel model;
  const sbump::Palette plain(false);
  while (!input.empty()) {
    const size_t bytes = std::min<size_t>(static_cast<uint8_t>(input[0]), input.size() - 1);
    v1::SessionUpdate piece;
    const bool taken = piece.ParseFromArray(input.data() + 1, static_cast<int>(bytes));
    input.remove_prefix(1 + bytes);
    if (!taken) continue;
    const auto update = merger.Add(std::move(piece));
    Require(update.has_value() != merger.Incomplete());
    if (!update) continue;
    CheckJson(*update);
    model.Apply(*update);
    Require(model.TopRows(5).size() <= 5 && model.TopRecentRows(5).size() <= 5);
    for (const size_t rows : {size_t{1}, size_t{24}}) {
      const auto frame =
          sbump::FrameLines(model, plain, {.columns = kWidth, .rows = rows}, "Ctrl-C ends it");
      Require(frame.size() < std::max<size_t>(rows, 4));
      CheckLines(frame);
    }
  }
  CheckLine(sbump::HeadingLine(model, plain));
  CheckLines(sbump::SummaryLines(model, plain, kWidth));
  (void)sbump::AttachOutcome(model.head(), {});
  (void)sbump::WatchOutcome(model.head(), {});
}

void FuzzMatch(const v1::MatchReply& reply) {
  CheckJson(reply);
  CheckText(sbump::MatchText(reply, sbump::Palette(false), kWidth));
  Require(!sbump::MatchedNothing(reply) || reply.targets().empty());
}

void FuzzSessions(const v1::ListSessionsReply& reply) {
  CheckJson(reply);
  CheckText(sbump::SessionListText(reply, sbump::Palette(false), kWidth));
  CheckText(sbump::SessionListText({{"a", reply}, {"b", reply}}, sbump::Palette(false)));
}

void FuzzDetach(const v1::DetachReply& reply) {
  CheckJson(reply);
  CheckText(sbump::DetachText(reply, sbump::Palette(false)));
  (void)sbump::AllProofsClean(reply);
}

void FuzzFindings(const v1::InspectReply& reply) {
  CheckJson(reply);
  CheckText(sbump::FindingsText(reply, sbump::Palette(false)));
  CheckText(sbump::FindingsText({{"a", reply}, {"b", reply}}, sbump::Palette(false)));
  Require(!reply.usable() || sbump::FindingsExitCode(reply) == sbump::ExitCode::kOk);
}

// What a writer makes of it.
template <typename Make>
std::string Written(Make make, const sbump::SpanNode& tree) {
  const int memory = memfd_create("spans", MFD_CLOEXEC);
  Require(memory >= 0);
  const sbump::Fd owned(memory);
  const std::string path = "/proc/self/fd/" + std::to_string(memory);
  auto file = sbump::OutputFile::Open(path);
  Require(file.ok());
  const auto writer = make(&*file);
  writer->Write(tree);
  writer->Finish(0);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void FuzzSpanTree(const sbump::SpanNode& tree) {
  size_t spans = 0;
  sbump::ForEachSpan(tree, [&](const sbump::SpanNode&) { ++spans; });
  const std::string lines = Written(sbump::SpanLines, tree);
  Require(static_cast<size_t>(std::ranges::count(lines, '\n')) == spans);
  boost::system::error_code failed;
  (void)boost::json::parse(Written(sbump::ChromeTrace, tree), failed);
  Require(!failed);
  CheckText(Written(sbump::FoldedStacks, tree));
  Require(!Written(sbump::SpanMessages, tree).empty());
  CheckText(Written(
      [](sbump::OutputFile* file) {
        return sbump::PytHooksTexts(file, [] { return v1::ListModulesReply(); });
      },
      tree));
  const std::string table = Written(
      [](sbump::OutputFile* file) { return sbump::SpanTable(file, sbump::Palette(false), kWidth); },
      tree);
  CheckText(table.substr(0, table.find("\n\n") + 1));
}

void FuzzSpans(const v1::SpanBatch& batch) {
  sbump::SpanTrees trees(FuzzSpanTree);
  for (const v1::Span& span : batch.spans()) {
    if (span.module() < static_cast<uint32_t>(batch.modules_size()))
      trees.Add(span, batch.modules(static_cast<int>(span.module())));
  }
  trees.Finish();
}

void FuzzModules(const v1::ListModulesReply& reply) {
  CheckJson(reply);
  CheckText(sbump::ModulesText(reply, sbump::Palette(false)));
}

void FuzzModulesChange(const v1::ModulesChange& change) {
  CheckJson(change);
  if (const std::string text = sbump::ChangeText(change, sbump::Palette(false)); !text.empty())
    CheckText(text);
}

void FuzzModulesUpdate(const v1::ModulesUpdate& update) {
  if (update.has_modules()) FuzzModules(update.modules());
  if (update.has_change()) FuzzModulesChange(update.change());
}

template <typename Reply>
void FuzzPlain(const Reply& reply) {
  CheckJson(reply);
}

constexpr sbump::Trial kTrials[] = {
    FuzzStream,
    With<v1::MatchReply, FuzzMatch>,
    With<v1::ListSessionsReply, FuzzSessions>,
    With<v1::DetachReply, FuzzDetach>,
    With<v1::InspectReply, FuzzFindings>,
    With<v1::UpdateReply, FuzzPlain<v1::UpdateReply>>,
    With<v1::GetInfoReply, FuzzPlain<v1::GetInfoReply>>,
    With<v1::SpanBatch, FuzzSpans>,
    With<v1::ListModulesReply, FuzzModules>,
    With<v1::ModulesChange, FuzzModulesChange>,
    With<v1::ModulesUpdate, FuzzModulesUpdate>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sbump::TryOneOf(kTrials, data, size);
}
