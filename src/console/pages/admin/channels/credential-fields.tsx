import {
  Anchor,
  Fieldset,
  FileButton,
  PasswordInput,
  SegmentedControl,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CredentialField, CredentialScheme, Vendor } from '../../../data/vendor-queries.ts';
import { type ChannelDraft, credentialSchemeOf, keepsStoredCredentials } from './channel-draft.ts';

interface CredentialFieldsProps {
  readonly vendor: Vendor;
  readonly draft: ChannelDraft;
  readonly isNew: boolean;
  readonly onChange: (part: Partial<ChannelDraft>) => void;
}

/** The keys the vendor requires. Those of an existing channel are stored, and stay unless new ones are entered. */
export function CredentialFields({ vendor, draft, isNew, onChange }: CredentialFieldsProps) {
  const { t } = useTranslation('admin-channels');
  const schemeLabel = useSchemeLabel();
  const required = isNew || !keepsStoredCredentials(draft, vendor);
  return (
    <Fieldset legend={t('credentials.title')} radius="md">
      <Stack gap="sm">
        <Text size="xs" c="dimmed">
          {t(isNew ? 'credentials.hint' : 'credentials.keepHint')}
        </Text>
        {vendor.credentials.length > 1 ? (
          <SegmentedControl
            aria-label={t('credentials.way')}
            value={String(draft.scheme)}
            onChange={(scheme) => onChange({ scheme: Number(scheme), credentials: {} })}
            data={vendor.credentials.map((scheme, index) => ({ value: String(index), label: schemeLabel(scheme) }))}
          />
        ) : null}
        {credentialSchemeOf(draft, vendor).fields.map(({ name, kind }) => (
          <Field
            key={name}
            name={name}
            kind={kind}
            required={required}
            value={draft.credentials[name] ?? ''}
            onChange={(value) => onChange({ credentials: { ...draft.credentials, [name]: value } })}
          />
        ))}
      </Stack>
    </Fieldset>
  );
}

/** The usual name of a set of credentials, derived from its field names; falls back to the field names themselves. */
function useSchemeLabel(): (scheme: CredentialScheme) => string {
  const { t } = useTranslation('admin-channels');
  return ({ fields }) => {
    const names = fields.map(({ name }) => name);
    if (names.includes('service_account')) return t('credentials.serviceAccount');
    if (names.includes('access_key')) return t('credentials.keyPair');
    return names.length === 1 && names[0] === 'api_key' ? t('credentials.apiKey') : names.join(', ');
  };
}

interface FieldProps {
  readonly name: string;
  readonly kind: CredentialField['kind'];
  readonly required: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Field({ name, kind, required, value, onChange }: FieldProps) {
  const { t } = useTranslation('admin-channels');
  // The vendors' own names, as administrators find them in the vendors' consoles; an unknown name is shown unchanged.
  const label = t(`credentials.fields.${name}` as 'credentials.fields.api_key', { defaultValue: name });
  const shared = { label, required, value } as const;
  if (kind === 'json') {
    return (
      <Textarea
        {...shared}
        description={
          <FileButton accept="application/json" onChange={(file) => void file?.text().then(onChange)}>
            {(props) => (
              <Anchor component="button" type="button" size="xs" {...props}>
                {t('credentials.fromFile')}
              </Anchor>
            )}
          </FileButton>
        }
        placeholder='{"type": "service_account", …}'
        autosize
        minRows={3}
        maxRows={8}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  const Input = kind === 'secret' ? PasswordInput : TextInput;
  return (
    <Input
      {...shared}
      autoComplete="off"
      spellCheck={false}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
