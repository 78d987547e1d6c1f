// What of Asio is no template, compiled once and for all: BOOST_ASIO_SEPARATE_COMPILATION keeps it
// out of the headers, where each file that has a socket or a timer would compile it anew.
#include <boost/asio/impl/src.hpp>
