// The test service alone.
import express from 'express';

import { count, serve, work } from './service.mjs';

const app = express();
app.get('/conformance/runs/:counter', count);
app.all(/^\/conformance/, work);
serve(app);
