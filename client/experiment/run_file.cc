#include "client/experiment/run_file.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "client/bounded_file.h"
#include "client/experiment/finite_numbers.h"
#include "client/json_output.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/check_recording.h"
#include "google/protobuf/util/json_util.h"

namespace sbump {
namespace {

absl::Status Wrong(std::string what) { return absl::InvalidArgumentError(std::move(what)); }

// Fields that this version does not know are those of a newer one.
absl::Status ParseJson(std::string_view line, google::protobuf::Message& message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(line.data(), line.size()), &message, options);
  if (!status.ok()) {
    constexpr size_t kMostShown = 120;
    const std::string why = Printable(std::string(status.message()).substr(0, kMostShown));
    return Wrong(StrCat("not a line of this format: ", why));
  }
  if (!HasFiniteNumbersOnly(message)) return Wrong("a number that is not finite");
  return absl::OkStatus();
}

// What a message itself repeats. What those repeat in turn is bounded by its line.
absl::Status CheckItems(std::initializer_list<int> counts) {
  const int most = std::max(counts);
  if (most <= kMostRunItems) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      StrCat("a list of ", most, " in one line, of at most ", kMostRunItems));
}

class Parser {
 public:
  explicit Parser(RunFile* file) : file_(file) {}

  absl::Status Take(std::string_view line) {
    if (line.size() > kMostRunLineBytes) return TakeLong(line);
    ++lines_;
    if (lines_ == 1) return TakeHeader(line);
    if (lines_ == 2) return TakeFirstBegin(line);
    v1::RunReply reply;
    SB_RETURN_IF_ERROR(ParseJson(line, reply));
    if (reply.what_case() == v1::RunReply::WHAT_NOT_SET) return TakeRequest(line);
    return TakeReply(std::move(reply));
  }
  size_t lines() const { return lines_; }

 private:
  // Sessions of very many functions; nothing that the report needs.
  absl::Status TakeLong(std::string_view line) {
    if (lines_ < 2 || !line.starts_with("{\"session\""))
      return absl::ResourceExhaustedError(
          StrCat("a line of ", line.size(), " bytes, of at most ", kMostRunLineBytes));
    return absl::OkStatus();
  }

  absl::Status TakeHeader(std::string_view line) {
    constexpr std::string_view kWhat =
        "this is no .sbump file: its first line is not {\"sbump\": 1, ...}, as `sbumpctl sweep "
        "--output FILE` writes it";
    if (!line.starts_with("{") || !ParseJson(line, file_->header).ok() ||
        file_->header.sbump() == 0)
      return Wrong(std::string(kWhat));
    if (file_->header.sbump() == kRunFileVersion) return absl::OkStatus();
    return Wrong(StrCat("a .sbump file of version ", file_->header.sbump(),
                        ", and this sbumpctl reads version ", kRunFileVersion,
                        ": use a newer sbumpctl (the file was written by ",
                        Printable(file_->header.version().substr(0, 40)), ")"));
  }

  absl::Status TakeFirstBegin(std::string_view line) {
    SB_RETURN_IF_ERROR(TakeRequest(line));
    return file_->stages.empty() ? Wrong("the second line is not what was asked (`begin`)")
                                 : absl::OkStatus();
  }

  // A line that is no reply: a further experiment, what was told of all of them, or what a newer
  // version knows.
  absl::Status TakeRequest(std::string_view line) {
    if (line.starts_with("{\"ranking\"")) return TakeRanking(line);
    v1::RunRequest request;
    SB_RETURN_IF_ERROR(ParseJson(line, request));
    if (!request.has_begin()) return absl::OkStatus();
    SB_RETURN_IF_ERROR(CheckItems({request.begin().groups_size()}));
    if (file_->stages.size() == kMostRunStages)
      return absl::ResourceExhaustedError(StrCat("more than ", kMostRunStages, " experiments"));
    file_->stages.push_back({.experiment = std::move(*request.mutable_begin())});
    return absl::OkStatus();
  }

  absl::Status TakeRanking(std::string_view line) {
    v1::RankingLine ranking;
    SB_RETURN_IF_ERROR(ParseJson(line, ranking));
    SB_RETURN_IF_ERROR(
        CheckItems({ranking.ranking().results_size(), ranking.ranking().warnings_size(),
                    ranking.ranking().opened_size()}));
    file_->ranking = std::move(*ranking.mutable_ranking());
    return absl::OkStatus();
  }

  RunStage& stage() { return file_->stages.back(); }

  absl::Status TakeReply(v1::RunReply reply) {
    switch (reply.what_case()) {
      case v1::RunReply::kSession:
        return TakeSession(std::move(*reply.mutable_session()));
      case v1::RunReply::kPlan:
        return TakePlan(std::move(*reply.mutable_plan()));
      case v1::RunReply::kWindow:
        return TakeWindow(std::move(*reply.mutable_window()));
      case v1::RunReply::kResult:
        return TakeResult(std::move(*reply.mutable_result()));
      default:
        return absl::OkStatus();
    }
  }

  absl::Status TakeSession(v1::SessionUpdate update) {
    if (update.has_end()) stage().end = update.end();
    update.clear_targets();
    update.clear_patterns();
    SB_RETURN_IF_ERROR(CheckItems({update.processes_size(), update.warnings_size()}));
    if (update.processes_size() > 0) stage().session = std::move(update);
    return absl::OkStatus();
  }

  absl::Status TakePlan(v1::ExperimentPlan plan) {
    if (stage().plan) return Wrong("a second plan of one experiment");
    if (static_cast<size_t>(plan.groups_size()) > kMostGroups)
      return absl::ResourceExhaustedError(
          StrCat(plan.groups_size(), " groups, of at most ", kMostGroups));
    SB_RETURN_IF_ERROR(CheckItems({plan.arms_size(), plan.warnings_size()}));
    stage().plan = std::move(plan);
    return absl::OkStatus();
  }

  absl::Status TakeWindow(v1::RecordedWindow window) {
    figures_ += static_cast<size_t>(window.groups_size());
    if (++windows_ > kMostRunWindows || figures_ > kMostRunFigures)
      return absl::ResourceExhaustedError(StrCat("more than ", kMostRunWindows, " windows, or ",
                                                 kMostRunFigures, " figures of groups in them"));
    if (window.phase() == v1::PILOT || window.phase() == v1::PREFLIGHT) {
      stage().pilot.push_back(std::move(window));
      return absl::OkStatus();
    }
    if (!stage().plan) return Wrong("a window before the plan that it belongs to");
    stage().windows.push_back(std::move(window));
    return absl::OkStatus();
  }

  absl::Status TakeResult(v1::ExperimentResult result) {
    if (!stage().plan) return Wrong("a result before the plan that it belongs to");
    SB_RETURN_IF_ERROR(
        CheckItems({result.results_size(), result.warnings_size(), result.pairs_size()}));
    stage().told = std::move(result);
    return absl::OkStatus();
  }

  RunFile* file_;
  size_t lines_ = 0;  // that are not empty
  size_t windows_ = 0;
  size_t figures_ = 0;
};

// Of one experiment; empty: nothing is missing.
std::string MissingOf(const RunStage& stage) {
  if (!stage.plan) return "ends before the plan: nothing was slowed";
  if (!stage.told) return "ends before the answer: what is said is of the windows until then";
  return "";
}

void NoteWhatIsMissing(RunFile& file) {
  for (size_t i = 0; i < file.stages.size(); ++i) {
    const std::string missing = MissingOf(file.stages[i]);
    if (missing.empty()) continue;
    const std::string which = file.stages.size() == 1 ? "it" : StrCat("experiment ", i + 1);
    file.gaps.push_back(StrCat(which, " ", missing));
  }
}

}  // namespace

absl::StatusOr<RunFile> ParseRunFile(const std::string& name, std::string_view text) {
  if (text.size() > kMostRunFileBytes)
    return absl::ResourceExhaustedError(
        StrCat(name, ": ", text.size(), " bytes, of at most ", kMostRunFileBytes));
  RunFile file;
  Parser parser(&file);
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    ++number;
    begin = end == std::string_view::npos ? text.size() : end + 1;
    if (line.empty()) continue;
    const absl::Status status = parser.Take(line);
    if (status.ok()) continue;
    const bool cut =
        parser.lines() > 2 && absl::IsInvalidArgument(status) && end == std::string_view::npos;
    if (!cut) return Annotate(status, StrCat(name, ":", number));
    file.gaps.push_back(StrCat("the file is cut off in line ", number, ": it is read up to there"));
  }
  if (parser.lines() < 2)
    return Wrong(StrCat(name, parser.lines() == 0 ? ": this is no .sbump file: it is empty"
                                                  : ": it ends before what was asked (`begin`)"));
  NoteWhatIsMissing(file);
  return file;
}

absl::StatusOr<RunFile> ReadRunFile(const std::string& path) {
  SB_ASSIGN_OR_RETURN(const std::string text, ReadBoundedFile(path, kMostRunFileBytes));
  return ParseRunFile(path == "-" ? "standard input" : path, text);
}

absl::StatusOr<RunFileWriter> RunFileWriter::Create(const std::string& path,
                                                    const v1::RunFileHeader& header,
                                                    const v1::RunRequest& begin) {
  SB_ASSIGN_OR_RETURN(OutputFile file,
                      OutputFile::Open(path, OutputFile::Emptied::kByTheFirstWrite));
  RunFileWriter writer(std::move(file));
  writer.asked_ = JsonLine(header) + JsonLine(begin);
  return writer;
}

void RunFileWriter::Write(const v1::RunReply& reply) {
  file_.Write(std::exchange(asked_, "") + JsonLine(reply));
}

void RunFileWriter::Write(const v1::RankingLine& ranking) {
  file_.Write(std::exchange(asked_, "") + JsonLine(ranking));
}

void RunFileWriter::Write(const v1::RunRequest& begin) {
  if (asked_.empty())
    file_.Write(JsonLine(begin));
  else
    asked_ += JsonLine(begin);
}

}  // namespace sbump
