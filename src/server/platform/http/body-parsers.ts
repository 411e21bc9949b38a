import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Endpoint } from '../../../contract/endpoint.ts';
import { AppError, invalidRequest } from '../app-error.ts';
import type { BodyAdmission } from './body-admission.ts';
import { announcedLength, type JsonBodyReader } from './json-body-reader.ts';
import { readMultipart } from './multipart.ts';
import { bodyLimitOf } from './route-registry.ts';

const EXPECTED_MEDIA_TYPES: Readonly<Record<NonNullable<Endpoint['accepts']>, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  'json-or-multipart': 'application/json or multipart/form-data',
};

/**
 * One table of body readers. Which of them a route takes is the route's line of the contract, not the sender's header:
 * a form sent to a JSON endpoint is refused, which also keeps cross-site forms out.
 */
export function registerBodyParsers(fastify: FastifyInstance, reader: JsonBodyReader, admission: BodyAdmission): void {
  fastify.removeContentTypeParser(['application/json', 'text/plain']);
  fastify.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const accepted = acceptedBodyOf(request);
    if (accepted === 'form') throw unsupportedMediaType(request);
    const endpoint: Partial<Endpoint> = request.routeOptions.config.endpoint ?? {};
    const body = await reader.read(request.raw, {
      limit: endpoint.jsonBodyLimit ?? bodyLimitOf(endpoint),
      maxValues: endpoint.maxBodyValues,
      longTextFields: endpoint.longTextFields,
      budgetKey: budgetKeyOf(request),
      response: request.rawResponse,
    });
    request.rawBody = body;
    // Where no handler begins, because the body is not what its schema says.
    request.rawResponse.once('close', () => !request.isHandled && body?.discard());
    return body?.value;
  });
  fastify.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    (request, body: Buffer, done) => {
      if (acceptedBodyOf(request) !== 'form') return done(unsupportedMediaType(request));
      const form = parseForm(body.toString('utf8'));
      done(form instanceof AppError ? form : null, form);
    },
  );
  fastify.addHook('preParsing', async (request, reply) => {
    request.rawResponse = reply.raw;
    const coding = request.headers['content-encoding'];
    if (coding !== undefined && coding.toLowerCase() !== 'identity')
      throw new AppError('unsupported_media_type', {
        params: { expected: `${EXPECTED_MEDIA_TYPES[acceptedBodyOf(request)]} without Content-Encoding` },
      });
  });
  fastify.addHook('preValidation', async (request) => {
    if (!request.isMultipart()) return;
    if (acceptedBodyOf(request) !== 'json-or-multipart') throw unsupportedMediaType(request);
    const bytes = announcedLength(request) ?? bodyLimitOf(request.routeOptions.config.endpoint ?? {});
    const { fields, files } = await admission.read(
      { source: request.raw, response: request.rawResponse, budgetKey: budgetKeyOf(request), bytes },
      () => readMultipart(request),
    );
    request.body = fields;
    request.uploads = files;
  });
}

const budgetKeyOf = ({ caller }: FastifyRequest): string => String(caller?.userId ?? '');

const acceptedBodyOf = (request: FastifyRequest): NonNullable<Endpoint['accepts']> =>
  request.routeOptions.config.endpoint?.accepts ?? 'json';

const unsupportedMediaType = (request: FastifyRequest): AppError =>
  new AppError('unsupported_media_type', { params: { expected: EXPECTED_MEDIA_TYPES[acceptedBodyOf(request)] } });

/** RFC 6749 section 3.2: a parameter sent twice is an error. */
function parseForm(text: string): Record<string, string> | AppError {
  const form: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    if (Object.hasOwn(form, name)) return invalidRequest(`${name} is given twice.`, name);
    if (value.includes('\u0000') || !value.isWellFormed()) return new AppError('invalid_text');
    form[name] = value;
  }
  return { ...form };
}
