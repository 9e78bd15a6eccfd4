#include "actors/run_monitor.hpp"

#include <caf/all.hpp>
#include <exception>

namespace refrain {

namespace {

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

}  // namespace

void run_monitor::fail(std::string_view who, std::string_view what) {
  if (failure_.empty()) {
    failure_ = std::string{who} + ": " + std::string{what};
  }
}

void run_monitor::protect(caf::scheduled_actor* self, std::string_view who) {
  std::string name{who};
  self->set_exception_handler([this, name](std::exception_ptr& thrown) -> caf::error {
    fail(name, text_of(thrown));
    return caf::exit_reason::unhandled_exception;
  });
  self->set_error_handler([this, name](caf::scheduled_actor* me, caf::error& error) {
    fail(name, me->system().render(error));
    me->quit(error);
  });
  self->set_default_handler(
      [this, name](caf::scheduled_actor*, caf::message_view& message) -> caf::result<caf::message> {
        fail(name, "cannot handle " + message.content().stringify());
        return caf::sec::unexpected_message;
      });
}

}  // namespace refrain
