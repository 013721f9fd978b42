#include "daemon/session/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kDocker =
    "/system.slice/docker-4c5e9d1f0aa34b1f8f1e4c5e9d1f0aa34b1f8f1e4c5e9d1f0aa34b1f8f1e0001.scope";

std::vector<ProcessFacts> SomeProcesses() {
  return {{.id = {.pid = 10},
           .exe = "/usr/bin/python3.11",
           .cmdline = "python3 -m gunicorn app:app",
           .cgroups = {"/system.slice/app.service"}},
          {.id = {.pid = 11},
           .exe = "/usr/bin/python3.11 (deleted)",
           .cmdline = "python3 worker.py",
           .cgroups = {"/system.slice/app.service/workers"}},
          {.id = {.pid = 12}, .exe = "/usr/sbin/nginx", .cmdline = "nginx", .cgroups = {kDocker}},
          {.id = {.pid = 13},
           .exe = "/opt/venv/bin/python3",
           .cmdline = "python3 serve.py",
           .cgroups = {"/", "/kubepods/pod7/cri-containerd-77aa01.scope"}}};
}

std::vector<pid_t> PidsOf(const std::vector<TargetId>& processes) {
  std::vector<pid_t> pids;
  for (const TargetId& process : processes) pids.push_back(process.pid);
  return pids;
}

std::vector<pid_t> Selected(const ProcessSelector& selector) {
  const auto selected = Select(selector, SomeProcesses());
  EXPECT_TRUE(selected.ok()) << selected.status();
  return selected.ok() ? PidsOf(*selected) : std::vector<pid_t>{};
}

TEST(SelectTest, ByExecutable) {
  EXPECT_THAT(Selected({.exe = "python3*"}), ElementsAre(10, 11, 13));
  EXPECT_THAT(Selected({.exe = "python3.11"}), ElementsAre(10, 11));
  EXPECT_THAT(Selected({.exe = "/opt/*/python3"}), ElementsAre(13));
  EXPECT_THAT(Selected({.exe = "python"}), IsEmpty());
}

TEST(SelectTest, ByArguments) {
  EXPECT_THAT(Selected({.cmdline = "*gunicorn*"}), ElementsAre(10));
  EXPECT_THAT(Selected({.cmdline = "python3 *.py"}), ElementsAre(11, 13));
}

TEST(SelectTest, ByCgroupAndWhatIsBelow) {
  EXPECT_THAT(Selected({.cgroup = "/system.slice/app.service"}), ElementsAre(10, 11));
  EXPECT_THAT(Selected({.cgroup = "system.slice/app.service/"}), ElementsAre(10, 11));
  EXPECT_THAT(Selected({.cgroup = "/sys/fs/cgroup/system.slice/app.service/workers"}),
              ElementsAre(11));
  EXPECT_THAT(Selected({.cgroup = "/system.slice/app"}), IsEmpty()) << "no half of a name";
}

TEST(SelectTest, ByContainer) {
  EXPECT_THAT(Selected({.container = "4c5e9d"}), ElementsAre(12));
  EXPECT_THAT(Selected({.container = "77aa01"}), ElementsAre(13));
  EXPECT_THAT(Selected({.container = "docker"}), IsEmpty());
}

TEST(SelectTest, AContainerMustBeOne) {
  std::vector<ProcessFacts> processes = SomeProcesses();
  processes[0].cgroups = {"/docker/77aa02"};
  const auto pids = Select({.container = "77aa"}, processes);
  EXPECT_TRUE(absl::IsFailedPrecondition(pids.status())) << pids.status();
  EXPECT_NE(std::string(pids.status().message()).find("77aa01, 77aa02"), std::string::npos);
}

TEST(SelectTest, AllThatIsGivenMustHold) {
  EXPECT_THAT(Selected({.cgroup = "/system.slice", .cmdline = "*worker*"}), ElementsAre(11));
}

TEST(SelectProcessesTest, FindsAndBoundsRealOnes) {
  EXPECT_TRUE(absl::IsNotFound(SelectProcesses({.cmdline = "no such command line"}, 5).status()));
  // This one is not selected by itself; its parent is there.
  const auto all = SelectProcesses({.exe = "*"}, 1'000'000);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(PidsOf(*all), ::testing::Not(::testing::Contains(getpid())));
  if (all->size() > 1) {
    EXPECT_TRUE(absl::IsResourceExhausted(SelectProcesses({.exe = "*"}, 1).status()));
  }
}

TEST(SelectProcessesTest, WhatIsNotSeenIsNotThere) {
  const pid_t parent = getppid();
  const auto only = [parent](const TargetProcess& process) { return process.pid() == parent; };
  const auto selected = SelectProcesses({.exe = "*"}, 1, only);
  ASSERT_TRUE(selected.ok()) << selected.status();
  EXPECT_THAT(PidsOf(*selected), ElementsAre(parent));
  EXPECT_EQ(selected->front(), FindRunning(parent));
  const auto none = [](const TargetProcess&) { return false; };
  EXPECT_TRUE(absl::IsNotFound(SelectProcesses({.exe = "*"}, 1, none).status()));
}

TEST(ContainerNamesTest, TakesTheWrappingOff) {
  EXPECT_THAT(ContainerNames("/kubepods/pod7/cri-containerd-77aa01.scope"),
              ElementsAre("kubepods", "pod7", "77aa01"));
  EXPECT_THAT(ContainerNames("/machine.slice/libpod-9f.scope"), ElementsAre("machine.slice", "9f"));
  EXPECT_THAT(ContainerNames("/docker/abc"), ElementsAre("docker", "abc"));
  EXPECT_THAT(ContainerNames("/"), IsEmpty());
}

}  // namespace
}  // namespace sbump
