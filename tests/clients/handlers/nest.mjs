import 'reflect-metadata';
import {
  Body,
  Controller,
  Get,
  Header,
  Headers,
  HttpException,
  Module,
  Param,
  Post,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { connect } from 'onceguard';

import { fail, leaveMark, port, stream, url } from './handlers.mjs';

class Handlers {
  ready() {
    return {};
  }

  json(body, key) {
    leaveMark({ 'idempotency-key': key });
    return body;
  }

  async throws(what, key) {
    leaveMark({ 'idempotency-key': key });
    if (what === 'refused') throw new HttpException('no such card', 404);
    return fail(what);
  }

  stream(size, key) {
    leaveMark({ 'idempotency-key': key });
    return new StreamableFile(stream(Number(size)));
  }
}
function decorate(name, decorators, parameters) {
  parameters.forEach((decorator, at) => decorator(Handlers.prototype, name, at));
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, name);
  Reflect.decorate(decorators, Handlers.prototype, name, method);
}

decorate('ready', [Get('conformance/runs/none')], []);
decorate('json', [Post('json')], [Body(), Headers('idempotency-key')]);
decorate(
  'throws',
  [Post(['async/:what', 'sync/:what'])],
  [Param('what'), Headers('idempotency-key')],
);
decorate(
  'stream',
  [Post('stream/:size'), Header('X-Streamed', 'yes')],
  [Param('size'), Headers('idempotency-key')],
);
Reflect.decorate([Controller(), UseInterceptors(connect({ url }).interceptor())], Handlers);

class App {}
Reflect.decorate([Module({ controllers: [Handlers] })], App);
const app = await NestFactory.create(App, { rawBody: true, logger: false });
await app.listen(port, '127.0.0.1');
