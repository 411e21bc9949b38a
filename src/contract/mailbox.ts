import type { TSchema } from 'typebox';
import Type from 'typebox';
import { Email } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done, Ok } from './responses.ts';

/** Success body of mailbox queries: `message` is inside `data`, not next to it. */
const Data = <S extends TSchema>(data: S) => Type.Object({ success: Type.Literal(true), data });

const Source = Type.Enum(['mailbox', 'account'], {
  description: 'mailbox: a password of its own; account: a legacy mailbox that opens with the account password.',
});

export const Mailbox = Type.Object({
  has_mailbox: Type.Boolean(),
  email: Type.String({ description: 'Empty without a mailbox.' }),
  password: Type.String({ description: 'Clear text; empty when password_source is account.' }),
  password_source: Source,
  message: Type.String(),
});

export const AppPassword = Type.Object({
  has_app_password: Type.Boolean({ description: 'Whether one was ever made; if not, POST makes it.' }),
  email: Type.String(),
  app_password: Type.String({ description: 'Clear text.' }),
  imap_host: Type.String(),
  smtp_host: Type.String(),
  imap_port: Type.Integer({ description: 'TLS from the first byte; 993.' }),
  smtp_port: Type.Integer({ description: 'TLS from the first byte; 465.' }),
  protocols: Type.Array(Type.Enum(['imap', 'smtp', 'pop3']), { description: 'What the password admits.' }),
  consistent: Type.Boolean({
    description: 'Whether the mail server still takes it. false: it was deleted there and must be regenerated.',
  }),
  message: Type.String(),
});

export const getMailbox = endpoint({
  method: 'GET',
  path: '/api/user/mailbox',
  summary: 'Mailbox address and password of the account',
  tag: 'mailbox',
  policy: 'account',
  envelope: 'api',
  secret: true,
  response: Data(Mailbox),
});

export const applyForMailbox = endpoint({
  method: 'POST',
  path: '/api/user/mailbox/apply',
  summary: 'Create a mailbox; an existing one is returned unchanged',
  tag: 'mailbox',
  policy: 'account',
  envelope: 'api',
  secret: true,
  // Accepts any body: an account with a mailbox gets its existing e-mail address whatever it requests; otherwise the
  // handler validates local_part.
  body: Type.Unsafe<{ readonly local_part?: string }>({
    properties: {
      local_part: {
        description:
          'The part before the @, a string: 3 to 30 of a-z 0-9 . _ - that does not start or end with a dot or a hyphen and has no two dots in a row. Made from the user name when left out.',
      },
    },
  }),
  optionalBody: true,
  response: Ok(
    Type.Object({
      email: Type.String(),
      password: Type.Optional(Type.String({ description: 'With a new mailbox only.' })),
      password_source: Type.Optional(Source),
    }),
  ),
});

export const getAppPassword = endpoint({
  method: 'GET',
  path: '/api/user/mailbox/app-password',
  summary: 'App password for mail programs, checked against the mail server',
  tag: 'mailbox',
  policy: 'account',
  envelope: 'api',
  secret: true,
  response: Data(AppPassword),
});

// Devices may call this too; the owner is notified when the device's sign-in ends, because the password stays valid.
export const regenerateAppPassword = endpoint({
  method: 'POST',
  path: '/api/user/mailbox/app-password',
  summary: 'Replace the app password; the old one stops working',
  tag: 'mailbox',
  policy: 'account',
  envelope: 'api',
  secret: true,
  response: Data(AppPassword),
});

export const getMailState = endpoint({
  method: 'GET',
  path: '/api/admin/mail',
  summary: 'Whether e-mails can be sent, the queue length and the last failure',
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
  summary: 'Send a test e-mail to check the SMTP settings',
  tag: 'admin',
  policy: 'root',
  envelope: 'api',
  body: Type.Object({ to: Email }),
  response: Done,
});
