// Imported in front of an example of the SDK, which listens on a port of its own choice: the first
// server that it starts listens on $LISTEN_PORT, others on any port.
import net from 'node:net';

const listen = net.Server.prototype.listen;
let first = true;
net.Server.prototype.listen = function (port, ...rest) {
  const chosen = first ? Number(process.env.LISTEN_PORT) : 0;
  first = false;
  const more = rest.filter((one) => typeof one === 'function');
  return listen.call(this, { port: chosen, host: '127.0.0.1' }, ...more);
};
