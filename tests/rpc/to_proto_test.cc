#include "daemon/rpc/to_proto.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "daemon/base/utf8.h"
#include "daemon/rpc/grpc_status.h"
#include "tests/rpc/snapshots.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kGrpcLimitBytes = size_t{4} << 20;

std::vector<v1::SessionUpdate> Updates(const Snapshot& snapshot) {
  SeenRows seen;
  return ToUpdates(SessionOf(snapshot), seen);
}

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &text, options).ok());
  return text;
}

// ---- One update ----

TEST(ToUpdatesTest, ARowAndItsCounters) {
  Snapshot snapshot = SnapshotOf(1, 7);
  RowInfo row = *snapshot.rows[0];
  row.first_line = 12;
  snapshot.rows[0] = std::make_shared<const RowInfo>(row);
  snapshot.counters[0] = {.calls = 7,
                          .delayed_calls = 6,
                          .requested_delay_ns = 6000,
                          .injected_delay_ns = 6100,
                          .missed_calls = 1,
                          .overshoot = {.p50_ns = 90, .p99_ns = 1500},
                          .threads_seen = 3,
                          .code_objects = 2,
                          .blocked = "blocked by a tool"};
  const auto updates = Updates(snapshot);
  ASSERT_THAT(updates, SizeIs(1));
  ASSERT_THAT(updates[0].targets(), SizeIs(1));
  const v1::TargetStats& target = updates[0].targets(0);
  EXPECT_EQ(target.pattern(), "*/app.py:*");
  EXPECT_EQ(target.qualname(), "Service.method_0.<locals>.wrapper");
  EXPECT_EQ(target.first_line(), 12u);
  EXPECT_EQ(target.calls(), 7u);
  EXPECT_EQ(target.delayed_calls(), 6u);
  EXPECT_EQ(target.requested_delay_ns(), 6000u);
  EXPECT_EQ(target.injected_delay_ns(), 6100u);
  EXPECT_EQ(target.missed_calls(), 1u);
  EXPECT_EQ(target.overshoot().p50_ns(), 90u);
  EXPECT_EQ(target.overshoot().p99_ns(), 1500u);
  EXPECT_EQ(target.threads_seen(), 3u);
  EXPECT_EQ(target.code_objects(), 2u);
  EXPECT_EQ(target.blocked(), "blocked by a tool");
  EXPECT_EQ(target.qualname_source(), "co_qualname");
  EXPECT_THAT(target.module_names(), ElementsAre("package.module.app"));
  EXPECT_EQ(target.pid(), 4242);
}

TEST(ToUpdatesTest, ZerosArePrintedUnderTheContractsNames) {
  const std::string json = Json(Updates(SnapshotOf(1, 0))[0]);
  for (const char* text :
       {"\"calls\":\"0\"", "\"injected_delay_ns\":\"0\"", "\"overshoot\":{\"p50_ns\":\"0\"",
        "\"first_hit_unix_ns\":\"0\"", "\"state\":\"ACTIVE\"", "\"inexact\":false",
        "\"more\":false", "\"times\":{\"attach_ns\":\"0\"", "\"status\":\"MATCHED\"",
        "\"blocked\":\"\"", "\"near_misses\":[]"}) {
    EXPECT_THAT(json, HasSubstr(text));
  }
}

TEST(ToUpdatesTest, HowItDelays) {
  SessionSnapshot session = SessionOf(SnapshotOf(1, 0));
  SeenRows seen;
  EXPECT_EQ(ToUpdates(session, seen)[0].mode(), v1::SPIN);
  EXPECT_EQ(ToUpdates(session, seen)[0].on(), v1::CALL);
  session.mode = DelayMode::kSleep;
  session.on = HitOn::kResume;
  EXPECT_EQ(ToUpdates(session, seen)[0].mode(), v1::SLEEP);
  EXPECT_EQ(ToUpdates(session, seen)[0].on(), v1::RESUME);
}

TEST(ToUpdatesTest, HitsInTimesOfDay) {
  Snapshot snapshot = SnapshotOf(1, 1);
  snapshot.unix_ns = 1'700'000'000'000'000'000;
  snapshot.monotonic_ns = 5'000;
  snapshot.counters[0].first_hit_ns = 2'000;
  snapshot.counters[0].last_hit_ns = 5'500;  // while the snapshot was taken
  const auto updates = Updates(snapshot);
  EXPECT_EQ(updates[0].targets(0).first_hit_unix_ns(), 1'699'999'999'999'997'000u);
  EXPECT_EQ(updates[0].targets(0).last_hit_unix_ns(), 1'700'000'000'000'000'500u);
}

TEST(ToUpdatesTest, PatternsTimesSkippedAndWarnings) {
  Snapshot snapshot = SnapshotOf(0, 0);
  snapshot.patterns = {{.pattern = "a:b",
                        .status = PatternStatus::kNoMatch,
                        .near_misses = {{"a:B", "differs in case only"}},
                        .delay_ns = 5,
                        .every = 2}};
  snapshot.times = {.attach_ns = 1,
                    .detach_ns = 2,
                    .stopped_ns = 3,
                    .longest_stop_ns = 4,
                    .stops = 5,
                    .holds = 6,
                    .hold_p50_ns = 7,
                    .hold_max_ns = 8,
                    .hold_timeouts = 9,
                    .active_ns = 10};
  snapshot.skipped = {{"ring full", 3}};
  snapshot.warnings = {"careful"};
  snapshot.inexact = true;
  snapshot.delay_ns = 10;
  snapshot.trap_cost_ns = 11;
  const v1::SessionUpdate update = Updates(snapshot)[0];
  EXPECT_EQ(update.patterns(0).status(), v1::NO_MATCH);
  EXPECT_EQ(update.patterns(0).near_misses(0).suggestion(), "a:B");
  EXPECT_EQ(update.patterns(0).every(), 2u);
  EXPECT_THAT(Json(update.times()),
              HasSubstr("{\"attach_ns\":\"1\",\"detach_ns\":\"2\",\"stopped_ns\":\"3\","
                        "\"longest_stop_ns\":\"4\",\"stops\":\"5\",\"holds\":\"6\","
                        "\"hold_p50_ns\":\"7\",\"hold_max_ns\":\"8\",\"hold_timeouts\":\"9\","
                        "\"active_ns\":\"10\""));
  EXPECT_EQ(update.skipped(0).reason(), "ring full");
  EXPECT_EQ(update.skipped(0).count(), 3u);
  EXPECT_THAT(update.warnings(), ElementsAre("careful"));
  EXPECT_TRUE(update.inexact());
  EXPECT_EQ(update.delay_ns(), 10u);
  EXPECT_EQ(update.trap_cost_ns(), 11u);
}

TEST(ToUpdatesTest, EveryStatusHasItsWord) {
  for (const auto& [status, word] : {std::pair{PatternStatus::kMatched, v1::MATCHED},
                                     {PatternStatus::kNoMatch, v1::NO_MATCH},
                                     {PatternStatus::kNoCalls, v1::NO_CALLS},
                                     {PatternStatus::kAmbiguous, v1::AMBIGUOUS},
                                     {PatternStatus::kGone, v1::GONE}}) {
    Snapshot snapshot = SnapshotOf(0, 0);
    snapshot.patterns[0].status = status;
    EXPECT_EQ(Updates(snapshot)[0].patterns(0).status(), word);
  }
}

TEST(ToUpdatesTest, OnlyTheLastHasAnEnd) {
  EXPECT_FALSE(Updates(SnapshotOf(1, 1))[0].has_end());
  Snapshot snapshot = Ended(SnapshotOf(1, 1), "detached");
  SessionEnd end = *snapshot.end;
  end.proof = {.links_left = 1,
               .fields_left = 2,
               .text_bytes_changed = 3,
               .verified = true,
               .detail = "read back"};
  end.no_hits = true;
  snapshot.end = std::make_shared<const SessionEnd>(end);
  const v1::SessionUpdate update = Updates(snapshot)[0];
  EXPECT_EQ(update.state(), v1::ENDED);
  EXPECT_EQ(update.end().reason(), "detached");
  EXPECT_EQ(update.end().detach_proof().links_left(), 1u);
  EXPECT_EQ(update.end().detach_proof().fields_left(), 2u);
  EXPECT_EQ(update.end().detach_proof().text_bytes_changed(), 3u);
  EXPECT_TRUE(update.end().detach_proof().verified());
  EXPECT_TRUE(update.end().no_hits());
  EXPECT_FALSE(update.end().no_match());
}

TEST(ToUpdatesTest, NamesThatAreNoUtf8ArriveReadable) {
  Snapshot snapshot = SnapshotOf(1, 1);
  RowInfo row = *snapshot.rows[0];
  row.qualname = "a\xED\xA0\x80z\xFF";  // a lone surrogate, a byte of nothing
  row.filename = "/ok/\xC3\xA9.py";
  row.module_names = {"m\x80"};
  snapshot.rows[0] = std::make_shared<const RowInfo>(row);
  const v1::SessionUpdate update = Updates(snapshot)[0];
  EXPECT_EQ(update.targets(0).qualname(), "a\xEF\xBF\xBDz\xEF\xBF\xBD");
  EXPECT_EQ(update.targets(0).filename(), "/ok/\xC3\xA9.py");
  EXPECT_TRUE(IsStrictUtf8(update.targets(0).module_names(0)));
}

TEST(ToUpdatesTest, ARowWithoutAPattern) {
  Snapshot snapshot = SnapshotOf(1, 1);
  RowInfo row = *snapshot.rows[0];
  row.pattern = static_cast<size_t>(-1);
  snapshot.rows[0] = std::make_shared<const RowInfo>(row);
  EXPECT_EQ(Updates(snapshot)[0].targets(0).pattern(), "");
}

// ---- Which rows ----

TEST(SeenRowsTest, OnlyWhatChangedIsSentAgain) {
  SeenRows seen;
  Snapshot snapshot = SnapshotOf(3, 1);
  EXPECT_THAT(ToUpdates(SessionOf(snapshot), seen)[0].targets(), SizeIs(3));
  EXPECT_THAT(ToUpdates(SessionOf(snapshot), seen)[0].targets(), IsEmpty());
  snapshot.counters[1].calls = 2;
  const auto updates = ToUpdates(SessionOf(snapshot), seen);
  ASSERT_THAT(updates[0].targets(), SizeIs(1));
  EXPECT_EQ(updates[0].targets(0).calls(), 2u);
  EXPECT_THAT(updates[0].patterns(), SizeIs(1)) << "patterns are always there";
}

TEST(SeenRowsTest, TheLastCarriesAll) {
  SeenRows seen;
  const Snapshot snapshot = SnapshotOf(3, 1);
  ToUpdates(SessionOf(snapshot), seen);
  EXPECT_THAT(ToUpdates(SessionOf(Ended(snapshot, "detached")), seen)[0].targets(), SizeIs(3));
}

TEST(SeenRowsTest, ARowThatWasBornLater) {
  SeenRows seen;
  const Snapshot later = SnapshotOf(3, 1);
  Snapshot first = later;
  first.rows.pop_back();
  first.counters.pop_back();
  ToUpdates(SessionOf(first), seen);
  const auto updates = ToUpdates(SessionOf(later), seen);
  ASSERT_THAT(updates[0].targets(), SizeIs(1));
  EXPECT_EQ(updates[0].targets(0).qualname(), "Service.method_2.<locals>.wrapper");
}

TEST(SeenRowsTest, BlockedAndBirthsAreChangesToo) {
  SeenRows seen;
  Snapshot snapshot = SnapshotOf(2, 1);
  ToUpdates(SessionOf(snapshot), seen);
  snapshot.counters[0].blocked = "blocked by a tool";
  snapshot.counters[1].code_objects = 2;
  EXPECT_THAT(ToUpdates(SessionOf(snapshot), seen)[0].targets(), SizeIs(2));
}

TEST(SeenRowsTest, ARowThatAnotherPatternOwnsNow) {
  SeenRows seen;
  Snapshot snapshot = SnapshotOf(2, 1);
  ToUpdates(SessionOf(snapshot), seen);
  snapshot.patterns.push_back({.pattern = "*:Service.*", .status = PatternStatus::kMatched});
  RowInfo row = *snapshot.rows[1];
  row.pattern = 1;
  snapshot.rows[1] = std::make_shared<const RowInfo>(row);
  const auto updates = ToUpdates(SessionOf(snapshot), seen);
  ASSERT_THAT(updates[0].targets(), SizeIs(1));
  EXPECT_EQ(updates[0].targets(0).pattern(), "*:Service.*");
}

// ---- In pieces ----

Snapshot LargeSnapshot(size_t rows, uint64_t calls) {
  Snapshot snapshot = SnapshotOf(rows, calls);
  snapshot.warnings = {"careful"};
  snapshot.skipped = {{"a reason", 3}};
  return snapshot;
}

void ExpectPieces(const std::vector<v1::SessionUpdate>& updates, int rows, int patterns) {
  int targets = 0, seen_patterns = 0;
  for (size_t i = 0; i < updates.size(); ++i) {
    EXPECT_LT(updates[i].ByteSizeLong(), kGrpcLimitBytes) << "piece " << i;
    EXPECT_EQ(updates[i].more(), i + 1 < updates.size()) << "piece " << i;
    EXPECT_EQ(updates[i].session_id(), "s1");
    EXPECT_EQ(updates[i].process().pid(), 4242);
    // A reader appends piece to piece.
    EXPECT_EQ(updates[i].warnings_size(), i == 0 ? 1 : 0);
    EXPECT_EQ(updates[i].skipped_size(), i == 0 ? 1 : 0);
    targets += updates[i].targets_size();
    seen_patterns += updates[i].patterns_size();
  }
  EXPECT_EQ(targets, rows);
  EXPECT_EQ(seen_patterns, patterns);
}

TEST(PiecesTest, FiftyThousandRows) {
  const auto updates = Updates(Ended(LargeSnapshot(50'000, 1), "detached"));
  EXPECT_GT(updates.size(), 1u);
  EXPECT_LT(updates.size(), 40u);
  ExpectPieces(updates, 50'000, 1);
  for (const v1::SessionUpdate& update : updates) EXPECT_TRUE(update.has_end());
}

TEST(PiecesTest, AHundredThousandPatterns) {
  Snapshot snapshot = LargeSnapshot(0, 0);
  snapshot.patterns.resize(100'000, {.pattern = "*/some/module/of/mine.py:Class.method"});
  ExpectPieces(Updates(snapshot), 0, 100'000);
}

// The names belong to the target: long ones must not make a message that no client takes.
TEST(PiecesTest, RowsWithTheLongestNames) {
  Snapshot snapshot = LargeSnapshot(60, 1);
  for (auto& info : snapshot.rows) {
    RowInfo row = *info;
    row.filename = std::string(256 * 1024, 'f');
    row.qualname = std::string(256 * 1024, 'q');
    row.module_names.assign(64, std::string(1024, 'm'));
    info = std::make_shared<const RowInfo>(row);
  }
  ExpectPieces(Updates(snapshot), 60, 1);
}

TEST(PiecesTest, ADryRunOfFiftyThousandRows) {
  MatchResult result;
  result.snapshot = SnapshotOf(50'000, 0);
  result.snapshot.warnings = {"the inventory is incomplete"};
  result.snapshot.times.stopped_ns = 5;
  result.code_objects_seen = 60'000;
  result.incomplete = true;
  const auto replies = ToMatchReplies(result);
  int targets = 0;
  for (const v1::MatchReply& reply : replies) {
    EXPECT_LT(reply.ByteSizeLong(), kGrpcLimitBytes);
    EXPECT_EQ(reply.more(), &reply != &replies.back());
    EXPECT_EQ(reply.code_objects_seen(), 60'000u);
    EXPECT_TRUE(reply.incomplete());
    EXPECT_EQ(reply.stopped_ns(), 5u);
    EXPECT_EQ(reply.warnings_size(), &reply == &replies.front() ? 1 : 0);
    targets += reply.targets_size();
  }
  EXPECT_EQ(targets, 50'000);
}

// ---- The doctor ----

TEST(UpdateReplyTest, WhatIsInForceAndWhatMatchesNothing) {
  v1::UpdateReply reply;
  ToProto(RulesInForce{.rows = 2,
                       .warnings = {"careful"},
                       .unmatched = {{.pattern = "a:b", .near_misses = {{"a:B", "case"}}}}},
          reply);
  EXPECT_EQ(reply.targets(), 2u);
  EXPECT_THAT(reply.warnings(), ElementsAre("careful"));
  ASSERT_EQ(reply.unmatched_size(), 1);
  EXPECT_EQ(reply.unmatched(0).pattern(), "a:b");
  EXPECT_EQ(reply.unmatched(0).status(), v1::NO_MATCH);
  EXPECT_EQ(reply.unmatched(0).near_misses(0).suggestion(), "a:B");
}

// One message cannot be split, and a target file has up to 100,000 patterns.
TEST(UpdateReplyTest, NoMoreThanAMessageHolds) {
  RulesInForce rules;
  rules.unmatched.assign(100, {.pattern = std::string(64 << 10, 'x')});
  v1::UpdateReply reply;
  ToProto(rules, reply);
  EXPECT_EQ(reply.unmatched_size(), 16);
  EXPECT_LT(reply.ByteSizeLong(), size_t{2} << 20);
  EXPECT_THAT(reply.warnings(), ElementsAre("84 more patterns match nothing"));
}

TEST(InspectReplyTest, FindingsAndWhetherAnAttachWouldWork) {
  Diagnosis diagnosis;
  diagnosis.findings = {{FindingLevel::kOk, "kernel", "BTF", "yes", ""},
                        {FindingLevel::kWarning, "capabilities", "CAP_SYS_NICE", "no", "slower"}};
  diagnosis.process.pid = 7;
  v1::InspectReply reply;
  ToProto(diagnosis, reply);
  EXPECT_TRUE(reply.usable());
  EXPECT_EQ(reply.process().pid(), 7);
  EXPECT_EQ(reply.findings(0).level(), v1::OK);
  EXPECT_EQ(reply.findings(1).level(), v1::WARNING);
  EXPECT_EQ(reply.findings(1).advice(), "slower");
  diagnosis.findings.push_back({FindingLevel::kProblem, "kernel", "uprobes", "no", "build one"});
  v1::InspectReply unusable;
  ToProto(diagnosis, unusable);
  EXPECT_FALSE(unusable.usable());
  EXPECT_EQ(unusable.findings(2).level(), v1::PROBLEM);
}

// ---- Codes ----

TEST(GrpcStatusTest, CodesAndWordsStay) {
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  const std::pair<absl::Status, grpc::StatusCode> pairs[] = {
      {absl::InvalidArgumentError("w"), grpc::StatusCode::INVALID_ARGUMENT},
      {absl::NotFoundError("w"), grpc::StatusCode::NOT_FOUND},
      {absl::UnimplementedError("w"), grpc::StatusCode::UNIMPLEMENTED},
      {absl::FailedPreconditionError("w"), grpc::StatusCode::FAILED_PRECONDITION},
      {absl::PermissionDeniedError("w"), grpc::StatusCode::PERMISSION_DENIED},
      {absl::AlreadyExistsError("w"), grpc::StatusCode::ALREADY_EXISTS},
      {absl::ResourceExhaustedError("w"), grpc::StatusCode::RESOURCE_EXHAUSTED},
      {absl::UnavailableError("w"), grpc::StatusCode::UNAVAILABLE},
      // A client takes DEADLINE_EXCEEDED for a daemon that does not answer.
      {absl::DeadlineExceededError("w"), grpc::StatusCode::FAILED_PRECONDITION},
      {absl::CancelledError("w"), grpc::StatusCode::CANCELLED},
      {absl::InternalError("w"), grpc::StatusCode::INTERNAL},
      {absl::DataLossError("w"), grpc::StatusCode::DATA_LOSS}};
  for (const auto& [status, code] : pairs) {
    EXPECT_EQ(ToGrpc(status).error_code(), code) << status;
    EXPECT_EQ(ToGrpc(status).error_message(), "w");
  }
}

}  // namespace
}  // namespace sbump
