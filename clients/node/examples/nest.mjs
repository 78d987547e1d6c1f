// Payments with NestJS, each of which happens once for its Idempotency-Key. In TypeScript the
// calls of decorators are written as such: @Controller() @UseInterceptors(…) class Payments.
//
//   onceguard serve --listen unix:/run/onceguard/serve.sock --store sqlite:onceguard.db
//   npm install onceguard @nestjs/common @nestjs/core @nestjs/platform-express \
//     reflect-metadata rxjs
//   node nest.mjs
//   curl -i -H 'Idempotency-Key: order-17' --json '{"amount": 42}' http://127.0.0.1:9000/payments
import 'reflect-metadata';
import {
  All, Body, Controller, Get, Module, Param, Post, Req, Res, UseInterceptors,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { connect } from 'onceguard';

import { count, open, pay, port, token, url, work } from './work.mjs';

const guard = connect({ url, token, open });

class Payments {
  create(payment) {
    return pay(payment.amount);
  }
}

class Kit {
  count(counter) {
    return count(counter);
  }

  async work(request, response) {
    const made = await work(request.headers);
    if (!made) return request.socket.destroy();
    for (const [name, value] of made.fields) response.append(name, value);
    return response.status(made.status).send(made.body);
  }
}

/** What TypeScript makes of decorators of a method and its parameters. */
function decorate(type, name, decorators, parameters) {
  parameters.forEach((decorator, at) => decorator(type.prototype, name, at));
  const method = Object.getOwnPropertyDescriptor(type.prototype, name);
  Reflect.decorate(decorators, type.prototype, name, method);
}
decorate(Payments, 'create', [Post('payments')], [Body()]);
decorate(Kit, 'count', [Get('conformance/runs/:counter')], [Param('counter')]);
decorate(Kit, 'work', [All(['conformance', 'conformance/*path'])], [Req(), Res()]);
Reflect.decorate([Controller(), UseInterceptors(guard.interceptor())], Payments);
Reflect.decorate([Controller(), UseInterceptors(guard.interceptor())], Kit);

class Shop {}
Reflect.decorate([Module({ controllers: [Payments, Kit] })], Shop);

// The raw body makes the fingerprint.
const app = await NestFactory.create(Shop, { rawBody: true, logger: ['error', 'warn'] });
app.useBodyParser('text', { type: 'text/*', limit: '1mb' });
await app.listen(port, '127.0.0.1');
