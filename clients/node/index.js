'use strict';
const { Client } = require('./lib/client.js');
const { NotDone, TryLater, Refused, Unreachable } = require('./lib/errors.js');
const { keepRawBody } = require('./lib/request.js');

/** Makes a client of one `onceguard serve`; nothing is sent before the first claim. */
const connect = (options) => new Client(options);

module.exports = { connect, keepRawBody, NotDone, TryLater, Refused, Unreachable };
