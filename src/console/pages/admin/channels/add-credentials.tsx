import { Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SaveForm } from '../../../components/save-form.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import type { ChannelDetail } from '../../../data/admin-types.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import type { Vendor } from '../../../data/vendor-queries.ts';
import { CredentialFieldInput } from './credential-field-input.tsx';
import {
  type CredentialListItems,
  schemeOfKeys,
  storedCredentialItems,
  toCredentials,
} from './credential-labels-schemes-and-form-values.ts';
import { CredentialLineError, fitsOnLines, parseCredentialLines } from './parse-credential-lines.ts';

interface AddCredentialsProps {
  readonly channel: ChannelDetail;
  readonly vendor: Vendor;
  readonly change: (list: CredentialListItems) => Promise<unknown>;
}

/** More credentials of the kind the channel has: pasted one per line, or one service account at a time. */
export function AddCredentials({ channel, vendor, change }: AddCredentialsProps) {
  const { t } = useTranslation(['admin-channels', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const scheme = schemeOfKeys(channel.credential_keys, vendor);
  const onLines = fitsOnLines(scheme);
  const [lines, setLines] = useState('');
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const isEmpty = onLines ? lines.trim() === '' : Object.values(typed).every((text) => text.trim() === '');
  const save = async (): Promise<void> => {
    const added = onLines ? parseCredentialLines(lines, scheme) : [toCredentials(scheme, typed)];
    await change([...storedCredentialItems(channel), ...added.map((credentials) => ({ credentials }))]);
    await invalidate();
    toasts.success(t('app:saved'));
  };
  const explain = (error: Error): Error => {
    if (error instanceof CredentialLineError) return new Error(t('credentials.badLine', { line: error.line }));
    return error instanceof SyntaxError ? new Error(t('channels.noJson')) : error;
  };
  return (
    <SaveForm submitLabel={t('credentials.add')} save={save} disabled={isEmpty} explain={explain}>
      {onLines ? (
        <Textarea
          label={t('credentials.more')}
          description={t('credentials.moreHint', { fields: scheme.fields.map(({ name }) => name).join('|') })}
          autosize
          minRows={2}
          maxRows={8}
          autoComplete="off"
          spellCheck={false}
          value={lines}
          onChange={(event) => setLines(event.currentTarget.value)}
        />
      ) : (
        scheme.fields.map((field) => (
          <CredentialFieldInput
            key={field.name}
            {...field}
            required={!isEmpty}
            value={typed[field.name] ?? ''}
            onChange={(value) => setTyped({ ...typed, [field.name]: value })}
          />
        ))
      )}
    </SaveForm>
  );
}
