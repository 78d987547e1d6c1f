'use strict';
const { Unreachable } = require('./errors.js');

/** The service refuses the certificate that it was shown, or the lack of one (RFC 8446, 6.2; the
 * names are OpenSSL's): it has read nothing. */
const REFUSES_CERTIFICATE = /_ALERT_(\w*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR)/;

/** One connection, with one call at a time. Leases hang on it: they end along with it. */
class Line {
  leases = new Set(); // operations
  draining = false; // its process takes no claims any more
  #socket;
  #call = null;
  #got = null;

  constructor(socket, ended) {
    let failure = new Error('the service ended the connection');
    // Before, nothing is sent, whatever was written.
    let connected = false;
    this.#socket = socket.setNoDelay(true).setKeepAlive(true, 1000);
    socket.on(socket.encrypted ? 'secureConnect' : 'connect', () => { connected = true; });
    socket.on('data', (piece) => this.#data(piece));
    socket.on('end', () => socket.destroy());
    socket.on('error', (error) => { failure = error; });
    socket.on('close', () => {
      ended(this);
      const sent = connected && !REFUSES_CERTIFICATE.test(failure.code);
      this.#end()?.reject(new Unreachable(failure, sent));
      for (const operation of this.leases) operation.moves();
    });
  }

  /** Sends a request and reads its answer: {status, field(name), body}. */
  call(bytes, limit) {
    this.#socket.ref();
    return new Promise((resolve, reject) => {
      const late = () => this.close(new Error(`no answer in ${Math.round(limit)} ms`));
      this.#call = { resolve, reject, timer: setTimeout(late, limit) };
      this.#socket.write(bytes);
    });
  }

  get closed() {
    return this.#socket.destroyed;
  }

  /** Whether a call may go on it now. */
  get free() {
    return this.#call === null && !this.closed;
  }

  close(why) {
    this.#socket.destroy(why);
  }

  /** Ends it where nothing holds it any more. */
  retire() {
    if (this.draining && this.free && this.leases.size === 0) this.close();
  }

  #data(piece) {
    this.#got = this.#got ? Buffer.concat([this.#got, piece]) : piece;
    const end = this.#got.indexOf('\r\n\r\n');
    if (this.#call && end < 0) return;
    const head = this.#got.latin1Slice(0, end + 2);
    const field = (name) => new RegExp(`^${name}: *(.*?) *\r$`, 'im').exec(head)?.[1];
    const length = Number(field('content-length'));
    if (!this.#call || !head.startsWith('HTTP/1.1 ') || Number.isNaN(length)) {
      this.close(new Error('this is no onceguard serve'));
      return;
    }
    const body = this.#got.subarray(end + 4);
    if (body.length < length) return;
    this.#got = null;
    if (body.length > length || field('connection') === 'close') this.close();
    this.#socket.unref();
    const status = Number(head.slice(9, 12));
    this.#end().resolve({ status, field, body: body.subarray(0, length) });
  }

  #end() {
    const call = this.#call;
    this.#call = null;
    clearTimeout(call?.timer);
    return call;
  }
}

module.exports = { Line };
