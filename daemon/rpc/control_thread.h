// The one thread that owns streams and the order of things. gRPC's threads and the sessions'
// threads only post to it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

namespace sbump {

class ControlThread {
 public:
  // From any thread.
  template <typename Task>
  void Post(Task task) {
    boost::asio::post(io_, std::move(task));
  }
  // For work that blocks and ends (waiting for a detach, for the disk): on one of four workers.
  // What reads processes: blocking_work.h.
  template <typename Task>
  void PostWork(Task task) {
    boost::asio::post(workers_, std::move(task));
  }

  boost::asio::io_context& io() { return io_; }
  void JoinWorkers() { workers_.join(); }

 private:
  boost::asio::io_context io_{1};
  boost::asio::thread_pool workers_{4};
};

}  // namespace sbump
