import { Stack, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { useFormValues } from '../../../components/use-form-values.ts';
import type { ChannelFormValues } from './channel-form-values.ts';

type Bind = ReturnType<typeof useFormValues<ChannelFormValues>>['text'];

/** The upstream's names of models, extra headers and the proxy. */
export function UpstreamRequestFields({ text }: { readonly text: Bind }) {
  const { t } = useTranslation('admin-channels');
  return (
    <Stack>
      <Textarea
        label={t('channels.modelMapping')}
        description={t('channels.modelMappingHint')}
        placeholder="gpt-4o = vendor/gpt-4o-2024-11-20"
        autosize
        maxRows={8}
        {...text('modelMapping')}
      />
      <Textarea
        label={t('channels.extraHeaders')}
        description={t('channels.extraHeadersHint')}
        placeholder="X-Api-Version: 2"
        autosize
        maxRows={8}
        {...text('extraHeaders')}
      />
      <TextInput
        label={t('channels.proxy')}
        description={t('channels.proxyHint')}
        placeholder="http://user:password@proxy.example.com:3128"
        {...text('proxy')}
      />
    </Stack>
  );
}
