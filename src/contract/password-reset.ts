import Type from 'typebox';
import { Email, LinkToken, Password, Time } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done, IdParam, Ok } from './success-bodies-and-pagination.ts';

export const requestPasswordReset = endpoint({
  method: 'POST',
  path: '/api/user/password-reset',
  summary:
    'Send a link for a new password, if an account has confirmed this e-mail; the answer is the same if none has',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ email: Email }),
  response: Done,
});

export const resetPassword = endpoint({
  method: 'POST',
  path: '/api/user/password-reset/confirm',
  summary:
    'Set a new password by a link: of an e-mail, within 30 minutes, or of an administrator, within a day. Once. Ends every sign-in',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ token: LinkToken, password: Password }),
  response: Done,
});

export const adminCreateResetLink = endpoint({
  method: 'POST',
  path: '/api/admin/users/:id/password-reset',
  summary: 'Make a link by which a user sets a new password, to be passed on in person; once, within a day',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  secret: true,
  params: IdParam,
  response: Ok(Type.Object({ url: Type.String(), expires_at: Time })),
});
