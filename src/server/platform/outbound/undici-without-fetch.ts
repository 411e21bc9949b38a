import { createRequire } from 'node:module';
import type * as undici from 'undici';

// The main module of the package loads fetch, caches and WebSockets beside it: 6 MB that nothing here calls.
const load = createRequire(import.meta.url);

export type Agent = undici.Agent;
export type ProxyAgent = undici.ProxyAgent;
export type Connector = undici.buildConnector.connector;

export const Agent = load('undici/lib/dispatcher/agent.js') as typeof undici.Agent;
export const buildConnector = load('undici/lib/core/connect.js') as typeof undici.buildConnector;
export const errors = load('undici/lib/core/errors.js') as typeof undici.errors;
export const ProxyAgent = load('undici/lib/dispatcher/proxy-agent.js') as typeof undici.ProxyAgent;

// Agents of proxies call it; it is the front page that gives it to all dispatchers.
const { prototype } = load('undici/lib/dispatcher/dispatcher.js') as { readonly prototype: Partial<undici.Dispatcher> };
prototype.connect ??= load('undici/lib/api/api-connect.js');
