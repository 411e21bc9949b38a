import { randomBytes } from 'node:crypto';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { CONSOLE_SECTIONS, consolePage } from '../../contract/console.ts';
import type { Routes } from '../platform/http/routes.ts';
import { ASSETS_FOLDER, NONCE_PLACE, NOT_BUILT, readIndex } from './files.ts';

/**
 * The console: one page for all its addresses and the files the build named by their content, in a folder that holds nothing
 * else. They share one route: one for each of some hundred files costs ten megabytes.
 */
export async function addConsoleRoutes(fastify: FastifyInstance, routes: Routes): Promise<void> {
  const index = readIndex();
  if (index !== undefined)
    await fastify.register(fastifyStatic, {
      root: ASSETS_FOLDER,
      prefix: '/assets/',
      index: false,
      dotfiles: 'ignore',
      preCompressed: true,
      immutable: true,
      maxAge: '365d',
    });
  const send = async (reply: FastifyReply): Promise<FastifyReply> => sendPage(reply, index ?? NOT_BUILT);
  routes.add(consolePage, ({ reply }) => send(reply));
  for (const section of CONSOLE_SECTIONS)
    for (const url of [`/${section}`, `/${section}/*`])
      fastify.get(url, { config: { endpoint: consolePage } }, (_, reply) => send(reply));
}

/**
 * Scripts and style sheets come from this service alone. The parts library writes its variables into style elements as it
 * runs: those carry the nonce of this one answer.
 */
function sendPage(reply: FastifyReply, page: string): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  return reply
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'same-origin')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('x-frame-options', 'DENY')
    .header(
      'content-security-policy',
      [
        "default-src 'self'",
        "script-src 'self'",
        `style-src 'self' 'nonce-${nonce}'`,
        "img-src 'self' blob: data:",
        "media-src 'self' blob: data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
      ].join('; '),
    )
    .send(page.replaceAll(NONCE_PLACE, nonce));
}
