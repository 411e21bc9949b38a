import { Fieldset, Stack, Text, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import type { CredentialScheme, Vendor } from '../../../data/vendor-queries.ts';
import { type ChannelFormValues, credentialSchemeOf, keepsStoredCredentials } from './channel-form-values.ts';
import { CredentialFieldInput } from './credential-field-input.tsx';
import { fitsOnLines } from './parse-credential-lines.ts';

interface CredentialFieldsProps {
  readonly vendor: Vendor;
  readonly draft: ChannelFormValues;
  readonly isNew: boolean;
  readonly onChange: (part: Partial<ChannelFormValues>) => void;
}

/** The keys the vendor requires. Those of an existing channel are stored, and stay unless new ones are entered. */
export function CredentialFields({ vendor, draft, isNew, onChange }: CredentialFieldsProps) {
  const { t } = useTranslation('admin-channels');
  const schemeLabel = useSchemeLabel();
  const required = isNew || !keepsStoredCredentials(draft, vendor);
  const scheme = credentialSchemeOf(draft, vendor);
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
            onChange={(scheme) => onChange({ scheme: Number(scheme), credentials: {}, moreCredentials: '' })}
            data={vendor.credentials.map((scheme, index) => ({ value: String(index), label: schemeLabel(scheme) }))}
          />
        ) : null}
        {scheme.fields.map(({ name, kind }) => (
          <CredentialFieldInput
            key={name}
            name={name}
            kind={kind}
            required={required}
            value={draft.credentials[name] ?? ''}
            onChange={(value) => onChange({ credentials: { ...draft.credentials, [name]: value } })}
          />
        ))}
        {isNew && fitsOnLines(scheme) ? (
          <Textarea
            label={t('credentials.more')}
            description={t('credentials.moreHint', { fields: scheme.fields.map(({ name }) => name).join('|') })}
            autosize
            maxRows={8}
            autoComplete="off"
            spellCheck={false}
            value={draft.moreCredentials}
            onChange={(event) => onChange({ moreCredentials: event.currentTarget.value })}
          />
        ) : null}
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
