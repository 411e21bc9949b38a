import Type from 'typebox';
import { Email } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done, Ok } from './success-bodies-and-pagination.ts';

export const getMailState = endpoint({
  method: 'GET',
  path: '/api/admin/mail',
  summary: 'Whether e-mails can be sent, how many wait, and what went wrong last',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  response: Ok(
    Type.Object({
      enabled: Type.Boolean(),
      waiting: Type.Integer({ description: 'at most 10000' }),
      last_error: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});

export const sendTestMail = endpoint({
  method: 'POST',
  path: '/api/admin/mail/test',
  summary: 'Send a test mail, to see whether the SMTP settings work',
  tag: 'admin',
  policy: 'root',
  envelope: 'api',
  body: Type.Object({ to: Email }),
  response: Done,
});
