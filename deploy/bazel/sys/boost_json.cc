// Boost.JSON without its library: this file holds all of it.
#include <boost/json/src.hpp>
