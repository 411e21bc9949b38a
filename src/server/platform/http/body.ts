import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Endpoint } from '../../../contract/endpoint.ts';
import { AppError, invalid } from '../errors.ts';
import { JsonRefused, parseCallerJson } from '../json.ts';
import { readMultipart } from './multipart.ts';

const EXPECTED: Readonly<Record<NonNullable<Endpoint['accepts']>, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  'json-or-multipart': 'application/json or multipart/form-data',
};

/**
 * One table of body readers. Which of them a route takes is the route's line of the contract, not the sender's header:
 * a form sent to a JSON address is refused, which also keeps cross-site forms out.
 */
export function acceptBodies(fastify: FastifyInstance): void {
  fastify.removeContentTypeParser(['application/json', 'text/plain']);
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (acceptsOf(request) === 'form') return done(refusal(request));
    if (body.length === 0) return done(null, undefined);
    try {
      const value = readJsonBody(body);
      request.rawBytes = body;
      done(null, value);
    } catch (error) {
      done(error as Error);
    }
  });
  fastify.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    (request, body: Buffer, done) => {
      if (acceptsOf(request) !== 'form') return done(refusal(request));
      const form = toForm(body.toString('utf8'));
      done(form instanceof AppError ? form : null, form);
    },
  );
  fastify.addHook('preParsing', async (request) => {
    const coding = request.headers['content-encoding'];
    if (coding !== undefined && coding.toLowerCase() !== 'identity')
      throw new AppError('unsupported_media_type', {
        params: { expected: `${EXPECTED[acceptsOf(request)]} without Content-Encoding` },
      });
  });
  fastify.addHook('preValidation', async (request) => {
    if (!request.isMultipart()) return;
    if (acceptsOf(request) !== 'json-or-multipart') throw refusal(request);
    const { fields, files } = await readMultipart(request);
    request.body = fields;
    request.uploads = files;
  });
}

const acceptsOf = (request: FastifyRequest): NonNullable<Endpoint['accepts']> =>
  request.routeOptions.config.endpoint?.accepts ?? 'json';

const refusal = (request: FastifyRequest): AppError =>
  new AppError('unsupported_media_type', { params: { expected: EXPECTED[acceptsOf(request)] } });

/** A caller's JSON. @throws AppError `invalid_json`, `invalid_text` */
export function readJsonBody(bytes: Buffer): unknown {
  try {
    return parseCallerJson(bytes);
  } catch (error) {
    const code = error instanceof JsonRefused && error.reason === 'text' ? 'invalid_text' : 'invalid_json';
    throw new AppError(code, { cause: error });
  }
}

/** RFC 6749 section 3.2: a parameter sent twice is an error. */
function toForm(text: string): Record<string, string> | AppError {
  const form: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    if (Object.hasOwn(form, name)) return invalid(`${name} is given twice.`, name);
    if (value.includes('\u0000') || !value.isWellFormed()) return new AppError('invalid_text');
    form[name] = value;
  }
  return { ...form };
}
