import type { FastifyReply } from 'fastify';
import { ERRORS } from '../../../contract/error-codes.ts';
import { formatMessage, type Locale } from '../../../contract/localized-messages/format-message.ts';
import { type AppError, isAppError } from '../app-error.ts';

/** What a page tells of a failure. */
export interface PageFailure {
  readonly code: AppError['code'];
  readonly status: number;
  /** In the language of the page. */
  readonly message: string;
}

/** Does the work of an HTML page; an error is shown on a page as well, by which the person can go on. */
export async function showErrorsAsHtmlPage(
  reply: FastifyReply,
  locale: Locale,
  work: () => Promise<FastifyReply>,
  showFailure: (failure: PageFailure) => FastifyReply | Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!isAppError(error)) throw error;
    const { params, retryAfterSeconds } = error.options;
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(Math.ceil(retryAfterSeconds)));
    const { code } = error;
    return showFailure({ code, status: ERRORS[code].status, message: formatMessage(code, locale, params) });
  }
}
