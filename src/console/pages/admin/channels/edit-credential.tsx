import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { useSaveAndClose } from '../../../components/use-save-and-close.ts';
import type { ChannelDetail } from '../../../data/admin-types.ts';
import type { Vendor } from '../../../data/vendor-queries.ts';
import { CredentialFieldInput } from './credential-field-input.tsx';
import {
  type Credential,
  type CredentialListItems,
  credentialLabel,
  schemeOfKeys,
  storedCredentialItems,
  toCredentials,
} from './credential-labels-schemes-and-form-values.ts';

interface EditCredentialProps {
  readonly channel: ChannelDetail;
  readonly credential: Credential;
  readonly vendor: Vendor;
  readonly change: (list: CredentialListItems) => Promise<unknown>;
}

/** A button and its dialog: a new name, or new keys in the place of those on file. */
export function EditCredential(props: EditCredentialProps) {
  const { t } = useTranslation('admin-channels');
  const [opened, setOpened] = useState(false);
  const name = credentialLabel(props.credential);
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={t('credentials.changeOf', { name })}
        onClick={() => setOpened(true)}
      >
        {t('credentials.change')}
      </Button>
      {opened ? <ReplaceDialog {...props} onClose={() => setOpened(false)} /> : null}
    </>
  );
}

function ReplaceDialog({
  channel,
  credential,
  vendor,
  change,
  onClose,
}: EditCredentialProps & { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin-channels', 'app']);
  const scheme = schemeOfKeys(credential.keys, vendor);
  const [name, setName] = useState(credential.name);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const isTyped = scheme.fields.some((field) => (typed[field.name] ?? '').trim() !== '');
  const save = useSaveAndClose(
    async () => {
      const news = { name: name.trim(), ...(isTyped && { credentials: toCredentials(scheme, typed) }) };
      return change(
        storedCredentialItems(channel).map((entry) => (entry.id === credential.id ? { ...entry, ...news } : entry)),
      );
    },
    { onClose },
  );
  const error = save.error instanceof SyntaxError ? new Error(t('channels.noJson')) : save.error;
  return (
    <FormDialog
      title={t('credentials.changeOf', { name: credentialLabel(credential) })}
      submitLabel={t('app:save')}
      save={{ ...save, error }}
      onClose={onClose}
    >
      <TextInput
        label={t('credentials.name')}
        description={t('channels.nameHint')}
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      {scheme.fields.map((field) => (
        <CredentialFieldInput
          key={field.name}
          {...field}
          required={isTyped}
          value={typed[field.name] ?? ''}
          onChange={(value) => setTyped({ ...typed, [field.name]: value })}
        />
      ))}
    </FormDialog>
  );
}
