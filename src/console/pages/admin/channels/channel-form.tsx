import {
  Anchor,
  Button,
  Collapse,
  Fieldset,
  FileButton,
  PasswordInput,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { listModelRows } from '../../../../contract/models.ts';
import { NumberField } from '../../../components/number-field.tsx';
import { SaveForm, useFieldError, useFormValues } from '../../../components/save-form.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { type CredentialField, type CredentialScheme, listQuery, type Vendor } from '../../../data/admin.ts';
import { formatNames } from '../../../data/format-values.ts';
import {
  type ChannelFormValues,
  CredentialLineError,
  credentialSchemeOf,
  fitsOnLines,
  keepsStoredCredentials,
} from './channel-form-values.ts';

interface ChannelFormProps {
  readonly vendor: Vendor;
  readonly initial: ChannelFormValues;
  readonly isNew: boolean;
  /** Whether the channel has several credentials, which are edited in a panel of their own. */
  readonly hasSeveralCredentials?: boolean;
  readonly submitLabel: string;
  readonly onEdit?: () => void;
  readonly save: (draft: ChannelFormValues) => Promise<void>;
}

/** All settings of a channel; rarely changed ones are collapsed. */
export function ChannelForm({
  vendor,
  initial,
  isNew,
  hasSeveralCredentials = false,
  submitLabel,
  onEdit,
  save,
}: ChannelFormProps) {
  const { t } = useTranslation('admin-channels');
  const { draft, set, text, value, checked } = useFormValues(initial, onEdit);
  const [more, { toggle, open: openMore }] = useDisclosure(!isNew);
  const isChat = vendor.kind === 'chat';
  const address = <AddressFields vendor={vendor} draft={draft} onChange={set} />;
  return (
    <SaveForm
      submitLabel={submitLabel}
      save={() => save(draft)}
      explain={(error) => {
        if (error instanceof CredentialLineError) return new Error(t('credentials.badLine', { line: error.line }));
        if (error instanceof SyntaxError) return new Error(t('channels.noJson'));
        return error;
      }}
      fields={{
        base_url: t('channels.baseUrl'),
        'options.private': `“${t('channels.private')}”`,
        'options.api_version': `“${t('channels.apiVersion')}”`,
        'options.max_concurrent_tasks': t('channels.concurrentTasks'),
        model_mapping: t('channels.modelMapping'),
        extra_headers: t('channels.extraHeaders'),
        proxy: t('channels.proxy'),
        models: t('channels.models'),
        name: t('channels.name'),
      }}
      onFieldError={(field) => {
        if (IN_MORE_SETTINGS.has(field) || (field === 'base_url' && !isChat)) openMore();
      }}
    >
      <TextInput
        label={t('channels.name')}
        description={t('channels.nameHint')}
        maxLength={100}
        required
        {...text('name')}
      />
      {hasSeveralCredentials ? null : <CredentialFields vendor={vendor} draft={draft} isNew={isNew} onChange={set} />}
      {isChat ? address : null}
      <ServedModelsField vendor={vendor} {...value('models')} isNew={isNew} />
      <div>
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          onClick={toggle}
          aria-expanded={more}
          rightSection={<IconChevronDown size={14} style={{ transform: more ? 'rotate(180deg)' : 'none' }} />}
        >
          {t('channels.advanced')}
        </Button>
      </div>
      <Collapse expanded={more}>
        <Stack>
          {isChat ? null : address}
          <RoutingFields value={value} hasVideos={vendor.kind === 'video'} />
          <UpstreamRequestFields text={text} />
        </Stack>
      </Collapse>
      <Switch label={t('channels.enabled')} description={t('channels.enabledHint')} {...checked('enabled')} />
    </SaveForm>
  );
}

/** The API's fields below "More settings". */
const IN_MORE_SETTINGS: ReadonlySet<string> = new Set([
  'options.max_concurrent_tasks',
  'model_mapping',
  'extra_headers',
  'proxy',
]);

interface AddressFieldsProps {
  readonly vendor: Vendor;
  readonly draft: ChannelFormValues;
  readonly onChange: (part: Partial<ChannelFormValues>) => void;
}

/**
 * Base URL of the upstream and its options. For chat protocols the URL selects the provider, so it is among the first
 * fields.
 */
function AddressFields({ vendor, draft: { baseUrl, options }, onChange }: AddressFieldsProps) {
  const { t } = useTranslation('admin-channels');
  const isPrivate = options.private === true;
  const versionError = useFieldError('options.api_version');
  return (
    <>
      <TextInput
        label={t('channels.baseUrl')}
        description={t(vendor.kind === 'chat' ? 'channels.chatBaseUrlHint' : 'channels.baseUrlHint')}
        placeholder={vendor.base_url}
        type="url"
        error={useFieldError('base_url')}
        value={baseUrl}
        onChange={(event) => onChange({ baseUrl: event.currentTarget.value })}
      />
      {isPrivate || isPrivateAddress(baseUrl) ? (
        <Switch
          label={t('channels.private')}
          description={t('channels.privateHint')}
          checked={isPrivate}
          onChange={(event) => onChange({ options: { ...options, private: event.currentTarget.checked } })}
        />
      ) : null}
      {options.api === 'azure' ? (
        <TextInput
          label={t('channels.apiVersion')}
          description={t('channels.apiVersionHint')}
          placeholder="2024-10-21"
          error={versionError}
          value={typeof options.api_version === 'string' ? options.api_version : ''}
          onChange={(event) => {
            const { api_version: _before, ...others } = options;
            const version = event.currentTarget.value.trim();
            onChange({ options: version === '' ? others : { ...others, api_version: version } });
          }}
        />
      ) : null}
    </>
  );
}

interface CredentialFieldsProps {
  readonly vendor: Vendor;
  readonly draft: ChannelFormValues;
  readonly isNew: boolean;
  readonly onChange: (part: Partial<ChannelFormValues>) => void;
}

/** Credential fields of the vendor. An existing channel keeps its stored credentials unless new ones are entered. */
function CredentialFields({ vendor, draft, isNew, onChange }: CredentialFieldsProps) {
  const { t } = useTranslation('admin-channels');
  const schemeLabel = useSchemeLabel();
  const fieldLabel = useCredentialLabel();
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
            description={t('credentials.moreHint', {
              fields: scheme.fields.map(({ name }) => fieldLabel(name)).join(' | '),
            })}
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

/** The name of a credential's field, as in the vendors' own consoles; an unknown one stays unchanged. */
export function useCredentialLabel(): (name: string) => string {
  const { t } = useTranslation('admin-channels');
  return (name) => t(`credentials.fields.${name}` as 'credentials.fields.api_key', { defaultValue: name });
}

/** Common name of a set of credentials, derived from its field names; falls back to the field names. */
function useSchemeLabel(): (scheme: CredentialScheme) => string {
  const { t } = useTranslation('admin-channels');
  return ({ fields }) => {
    const names = fields.map(({ name }) => name);
    if (names.includes('service_account')) return t('credentials.serviceAccount');
    if (names.includes('access_key')) return t('credentials.keyPair');
    return names.length === 1 && names[0] === 'api_key' ? t('credentials.apiKey') : formatNames(names);
  };
}

interface CredentialInputProps {
  readonly name: string;
  readonly kind: CredentialField['kind'];
  readonly required: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** One field of a credential; stored values are never shown. */
export function CredentialFieldInput({ name, kind, required, value, onChange }: CredentialInputProps) {
  const { t } = useTranslation('admin-channels');
  const shared = { label: useCredentialLabel()(name), required, value } as const;
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
      // Browsers ignore "off" at passwords: they would fill in the administrator's own, and it would go to the vendor.
      autoComplete={kind === 'secret' ? 'new-password' : 'off'}
      spellCheck={false}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface ModelsFieldProps {
  readonly vendor: Pick<Vendor, 'name' | 'kind'>;
  readonly value: readonly string[];
  readonly onChange: (models: string[]) => void;
  /** Preselects all models for a new channel of a video vendor; models of a chat upstream are found by its test. */
  readonly isNew: boolean;
}

/** Public names the channel serves; names without a catalogue row can be typed in. */
function ServedModelsField({ vendor: { name: vendor, kind }, value, onChange, isNew }: ModelsFieldProps) {
  const { t } = useTranslation('admin-channels');
  const rows = useQuery(listQuery(listModelRows, { vendor, page_size: '50' }));
  // Placeholder rows belong to the previously selected vendor.
  const known = rows.isPlaceholderData ? undefined : rows.data?.data.map(({ id }) => id);
  const filledFor = useRef<string>(undefined);
  useEffect(() => {
    if (!isNew || kind === 'chat' || known === undefined || filledFor.current === vendor) return;
    filledFor.current = vendor;
    onChange(known);
  }, [isNew, kind, known, vendor, onChange]);
  const missing = known?.filter((id) => !value.includes(id)) ?? [];
  return (
    <TagsInput
      label={t('channels.models')}
      description={
        <>
          {t(isNew && kind === 'chat' ? 'channels.modelsLaterHint' : 'channels.modelsHint')}{' '}
          {missing.length === 0 ? null : (
            <Anchor component="button" type="button" size="xs" onClick={() => onChange([...value, ...missing])}>
              {t('channels.allModels', { count: missing.length })}
            </Anchor>
          )}
        </>
      }
      error={useFieldError('models')}
      data={known ?? []}
      value={[...value]}
      onChange={onChange}
      splitChars={[',', ' ', '\n']}
      maxDropdownHeight={240}
      clearable
      clearButtonProps={{ 'aria-label': t('channels.clearModels'), 'aria-hidden': false, tabIndex: 0 }}
    />
  );
}

/**
 * Whether a URL seems to name a host that only a private channel may call; used to offer the switch, the server
 * decides.
 */
function isPrivateAddress(baseUrl: string): boolean {
  const host = /^https?:\/\/(\[[^\]]*\]|[^/:?#]*)/i.exec(baseUrl.trim())?.[1] ?? '';
  return (
    /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[(::1|f[cd]))|\.(local|lan|internal)$/i.test(host) ||
    (host !== '' && !/[.:]/.test(host)) ||
    /^http:/i.test(baseUrl.trim())
  );
}

interface RoutingFieldsProps {
  readonly value: ReturnType<typeof useFormValues<ChannelFormValues>>['value'];
  /** Whether the vendor generates videos, so that a limit on unfinished tasks applies. */
  readonly hasVideos: boolean;
}

/** A channel's share of the calls: priority, weight and task limit. */
function RoutingFields({ value, hasVideos }: RoutingFieldsProps) {
  const { t } = useTranslation('admin-channels');
  const limitError = useFieldError('options.max_concurrent_tasks');
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <NumberField
        label={t('channels.priority')}
        description={t('channels.priorityHint')}
        min={-1_000_000}
        max={1_000_000}
        allowDecimal={false}
        {...value('priority')}
      />
      <NumberField
        label={t('channels.weight')}
        description={t('channels.weightHint')}
        min={0}
        max={1_000_000}
        allowDecimal={false}
        {...value('weight')}
      />
      {hasVideos ? (
        <NumberField
          label={t('channels.concurrentTasks')}
          description={t('channels.concurrentTasksHint')}
          error={limitError}
          min={1}
          max={1_000_000}
          allowDecimal={false}
          {...value('maxConcurrentTasks')}
        />
      ) : null}
    </SimpleGrid>
  );
}

type Bind = ReturnType<typeof useFormValues<ChannelFormValues>>['text'];

/** The upstream's model names, extra headers and the proxy. */
function UpstreamRequestFields({ text }: { readonly text: Bind }) {
  const { t } = useTranslation('admin-channels');
  return (
    <Stack>
      <Textarea
        label={t('channels.modelMapping')}
        description={t('channels.modelMappingHint')}
        placeholder="gpt-4o = vendor/gpt-4o-2024-11-20"
        error={useFieldError('model_mapping')}
        autosize
        maxRows={8}
        {...text('modelMapping')}
      />
      <Textarea
        label={t('channels.extraHeaders')}
        description={t('channels.extraHeadersHint')}
        placeholder="X-Api-Version: 2"
        error={useFieldError('extra_headers')}
        autosize
        maxRows={8}
        {...text('extraHeaders')}
      />
      <TextInput
        label={t('channels.proxy')}
        description={t('channels.proxyHint')}
        placeholder="http://user:password@proxy.example.com:3128"
        error={useFieldError('proxy')}
        {...text('proxy')}
      />
    </Stack>
  );
}
