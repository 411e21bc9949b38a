import Type from 'typebox';
import { LinkToken } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done, Ok } from './success-bodies-and-pagination.ts';

export const getEmail = endpoint({
  method: 'GET',
  path: '/api/user/email',
  summary: 'The e-mail of the account, and whether it is confirmed',
  tag: 'accounts',
  policy: 'account',
  envelope: 'api',
  response: Ok(
    Type.Object({
      email: Type.String({ description: 'empty: none' }),
      confirmed: Type.Boolean({ description: 'whether it can be used to log in' }),
      can_confirm: Type.Boolean({
        description: 'whether the service sends e-mail; where not, an address counts at once',
      }),
    }),
  ),
});

export const resendConfirmation = endpoint({
  method: 'POST',
  path: '/api/user/email/confirmation',
  summary: 'Send the link that confirms the e-mail again',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  response: Done,
});

export const confirmEmail = endpoint({
  method: 'POST',
  path: '/api/user/email/confirm',
  summary: 'Confirm an e-mail by the link that was sent to it; once, within 24 hours',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ token: LinkToken }),
  response: Done,
});
