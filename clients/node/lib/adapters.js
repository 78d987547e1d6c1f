'use strict';
const { begin } = require('./middleware.js');

/** A middleware for Express 4 and 5 and what is like it. */
function express(options) {
  return (request, response, next) => {
    begin(this, request, response, options).then((runs) => runs && next(), next);
  };
}

/** For Express, behind all routes: tells of what handlers threw, so that NotDone … are heard. */
function expressErrors() {
  return (error, request, response, next) => {
    request.onceguard?.failed(error);
    next(error);
  };
}

/** A plugin for Fastify. */
function fastify(options) {
  const plugin = async (app) => {
    app.decorateRequest('onceguard', null);
    app.addHook('onRequest', async (request, reply) => {
      if (!await begin(this, request.raw, reply.raw, options)) reply.hijack();
      else request.onceguard = request.raw.onceguard ?? null;
    });
    app.addHook('onError', async (request, reply, error) => request.onceguard?.failed(error));
  };
  plugin[Symbol.for('skip-override')] = true; // for all routes of the one who registers it
  return plugin;
}

/** A listener for node:http. What the given one throws is answered by 500, and said to onError. */
function listener(handle, { onError = console.error, ...options } = {}) {
  return async (request, response) => {
    try {
      if (await begin(this, request, response, options)) await handle(request, response);
    } catch (error) {
      request.onceguard?.failed(error);
      onError(error);
      const status = error?.status >= 400 && error.status < 600 ? error.status : 500;
      if (response.headersSent) response.destroy();
      else response.writeHead(status, { 'Content-Type': 'text/plain' }).end('error\n');
    }
  };
}

/** An interceptor for NestJS: create the application with `rawBody: true`. */
function interceptor(options) {
  const intercept = async (context, next) => {
    const work = next.handle();
    if (context.getType() !== 'http') return work;
    const [request, reply] = [context.getArgByIndex(0), context.getArgByIndex(1)];
    const raw = request.raw ?? request;
    const Observable = work.constructor;
    const taken = { rawBody: request.rawBody, ...options };
    if (!await begin(this, raw, reply.raw ?? reply, taken)) {
      reply.hijack?.();
      return new Observable(() => {}); // answered: nothing is to come
    }
    request.onceguard = raw.onceguard;
    return new Observable((to) => work.subscribe({
      next: (value) => to.next(value),
      error: (error) => {
        raw.onceguard?.failed(error);
        to.error(error);
      },
      complete: () => to.complete(),
    }));
  };
  return { intercept };
}

module.exports = { express, expressErrors, fastify, listener, interceptor };
