'use strict';
const { createHash } = require('node:crypto');

const FRAMING = /^(content-length|transfer-encoding)$/i;

/** Instead of a body over the limit. */
const TOO_LONG = Symbol('too long');

/** Pairs of a flat list of names and values. */
const pairsOf = (raw) => raw.flatMap((name, at) => (at % 2 ? [] : [[name, raw[at + 1]]]));

/** Removes what only Onceguard may say to a handler. */
function dropReserved(request) {
  for (const name of Object.keys(request.headers)) {
    if (/^onceguard[-_]/.test(name)) delete request.headers[name];
  }
  const raw = request.rawHeaders;
  for (let at = raw.length - 2; at >= 0; at -= 2) {
    if (/^onceguard[-_]/i.test(raw[at])) raw.splice(at, 2);
  }
}

function addFields(request, fields = []) {
  for (const [name, value] of fields) {
    request.headers[name.toLowerCase()] = value;
    request.rawHeaders.push(name, value);
  }
}

/** The request as a claim describes it. */
function described(request, { credentialVerified: verified }) {
  const { method, rawHeaders, socket } = request;
  const target = (request.originalUrl ?? request.url).replace(/^https?:\/\/[^/?#]*\/?/i, '/');
  const certificate = socket.authorized ? socket.getPeerCertificate().raw : undefined;
  return {
    method,
    target,
    headers: pairsOf(rawHeaders).filter(([name]) => !FRAMING.test(name)),
    client_address: socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, ''),
    client_certificate: certificate && createHash('sha256').update(certificate).digest('hex'),
    credential_verified: typeof verified === 'function' ? verified(request) : verified,
  };
}

/** The raw body, which is there for others afterwards; null where the client left amid it. */
async function rawBody(request, given, limit) {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if ((given?.length ?? Number(length ?? 0)) > limit) return TOO_LONG;
  if (given !== undefined) return Buffer.from(given);
  if (coding === undefined && Number(length ?? 0) === 0) return Buffer.alloc(0);
  if (request.readableDidRead || request.readableEnded) {
    throw new Error('onceguard: the body was read before. Put the middleware before express.json() '
      + 'and its like, or let them keep it: express.json({ verify: keepRawBody })');
  }
  await null; // what has come with the head is parsed now
  if (request.destroyed && !request.complete) return null;
  const pieces = [];
  const size = await new Promise((resolve) => {
    let read = 0;
    const readable = () => {
      // Never a read() that finds nothing: at the end it would end the stream for others, too.
      while (request.readableLength > 0) read += pieces[pieces.push(request.read()) - 1].length;
      if (request.complete || read > limit) end(read);
    };
    const left = () => end(null);
    const end = (value) => {
      request.off('readable', readable).off('error', left).off('close', left);
      if (value > 0) request.unshift(Buffer.concat(pieces));
      resolve(value);
    };
    if (request.complete) readable();
    else request.on('readable', readable).on('error', left).on('close', left);
  });
  if (size > limit) return TOO_LONG;
  return size === null ? null : Buffer.concat(pieces);
}

/** For body-parser's `verify`: the middleware may then stand behind it. Not for packed bodies. */
function keepRawBody(request, response, bytes) {
  if ((request.headers['content-encoding'] ?? 'identity') === 'identity') request.rawBody = bytes;
}

module.exports = {
  TOO_LONG, addFields, described, dropReserved, keepRawBody, pairsOf, rawBody,
};
