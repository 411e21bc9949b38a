import { Button, Collapse, Stack, Switch, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { SaveForm } from '../../../components/save-form.tsx';
import { useFormValues } from '../../../components/use-form-values.ts';
import type { Vendor } from '../../../data/vendor-queries.ts';
import type { ChannelFormValues } from './channel-form-values.ts';
import { CredentialFields } from './credential-fields.tsx';
import { isPrivateAddress } from './is-private-address.ts';
import { UpstreamRequestFields } from './model-mapping-header-and-proxy-fields.tsx';
import { CredentialLineError } from './parse-credential-lines.ts';
import { PriorityWeightAndTaskLimitFields } from './priority-weight-and-task-limit-fields.tsx';
import { ServedModelsField } from './served-models-field.tsx';

interface ChannelFormProps {
  readonly vendor: Vendor;
  readonly initial: ChannelFormValues;
  readonly isNew: boolean;
  /** Several credentials are changed in a panel of their own. */
  readonly hasSeveralCredentials?: boolean;
  readonly submitLabel: string;
  readonly save: (draft: ChannelFormValues) => Promise<void>;
}

/** All settings of an upstream account; rarely changed settings are collapsed. */
export function ChannelForm({
  vendor,
  initial,
  isNew,
  hasSeveralCredentials = false,
  submitLabel,
  save,
}: ChannelFormProps) {
  const { t } = useTranslation('admin-channels');
  const { draft, set, text, value, checked } = useFormValues(initial);
  const [more, { toggle }] = useDisclosure(!isNew);
  const isChat = vendor.kind === 'chat';
  const address = <AddressFields vendor={vendor} draft={draft} onChange={set} />;
  return (
    <SaveForm
      submitLabel={submitLabel}
      save={() => save(draft)}
      explain={(error) => {
        if (error instanceof CredentialLineError) return new Error(t('credentials.badLine', { line: error.line }));
        if (error instanceof SyntaxError) return new Error(t('channels.noJson'));
        const message = error.message
          .replaceAll('base_url', t('channels.baseUrl'))
          .replaceAll('options.private', `“${t('channels.private')}”`)
          .replaceAll('options.api_version', `“${t('channels.apiVersion')}”`);
        return message === error.message ? error : new Error(message);
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
          <PriorityWeightAndTaskLimitFields value={value} hasVideos={vendor.kind === 'video'} />
          <UpstreamRequestFields text={text} />
        </Stack>
      </Collapse>
      <Switch label={t('channels.enabled')} description={t('channels.enabledHint')} {...checked('enabled')} />
    </SaveForm>
  );
}

interface AddressFieldsProps {
  readonly vendor: Vendor;
  readonly draft: ChannelFormValues;
  readonly onChange: (part: Partial<ChannelFormValues>) => void;
}

/** Where the upstream is. Of a chat protocol this decides who is called, so that it stands among the first fields. */
function AddressFields({ vendor, draft: { baseUrl, options }, onChange }: AddressFieldsProps) {
  const { t } = useTranslation('admin-channels');
  const isPrivate = options.private === true;
  return (
    <>
      <TextInput
        label={t('channels.baseUrl')}
        description={t(vendor.kind === 'chat' ? 'channels.chatBaseUrlHint' : 'channels.baseUrlHint')}
        placeholder={vendor.base_url}
        type="url"
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
