// What of Asio's TLS is no template, as src/base/asio.cpp has the rest of Asio.
#include <boost/asio/ssl/impl/src.hpp>
