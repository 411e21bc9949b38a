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
import { type ChannelDraft, keepsCredentials, wayOf } from './channel-draft.ts';
import { type FieldKind, VENDOR_FORMS, type Way } from './vendors.ts';

interface CredentialFieldsProps {
  readonly draft: ChannelDraft;
  readonly isNew: boolean;
  readonly onChange: (part: Partial<ChannelDraft>) => void;
}

/** The keys the vendor wants. Of a channel that exists they are on file and stay there unless new ones are typed. */
export function CredentialFields({ draft, isNew, onChange }: CredentialFieldsProps) {
  const { t } = useTranslation('upstreams');
  const { ways } = VENDOR_FORMS[draft.vendor];
  const required = isNew || !keepsCredentials(draft);
  return (
    <Fieldset legend={t('credentials.title')} radius="md">
      <Stack gap="sm">
        <Text size="xs" c="dimmed">
          {t(isNew ? 'credentials.hint' : 'credentials.keepHint')}
        </Text>
        {ways.length > 1 ? (
          <SegmentedControl
            aria-label={t('credentials.way')}
            value={wayOf(draft).key}
            onChange={(way) => onChange({ way: way as Way['key'], credentials: {} })}
            data={ways.map(({ key }) => ({ value: key, label: t(`credentials.${key}`) }))}
          />
        ) : null}
        {Object.entries(wayOf(draft).fields).map(([name, kind]) => (
          <Field
            key={`${draft.vendor} ${name}`}
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

interface FieldProps {
  readonly name: string;
  readonly kind: FieldKind;
  readonly required: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Field({ name, kind, required, value, onChange }: FieldProps) {
  const { t } = useTranslation('upstreams');
  // The names are the vendors' own, which is what people look for in their consoles.
  const shared = { label: t(`credentials.fields.${name}` as 'credentials.fields.api_key'), required, value } as const;
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
