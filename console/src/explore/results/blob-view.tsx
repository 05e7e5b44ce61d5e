/** Bytes as a picture, sound, film or document: always by a blob's address, in an element that runs no script. */
import { useEffect, useState } from 'preact/hooks'
import { Button } from '../../design/button.tsx'
import { Notice } from '../../design/feedback.tsx'
import { texts } from '../../texts/en/explore.ts'
import { isPdf, type Preview } from './preview.ts'

export function BlobView({ blob, preview }: { blob: Blob; preview: Preview }) {
  const address = useBlobAddress(blob)
  if (address === undefined) return null
  switch (preview) {
    case 'image':
    case 'svg':
      return (
        <div class="picture">
          <img src={address} alt={texts.image} />
        </div>
      )
    case 'audio':
      // biome-ignore lint/a11y/useMediaCaption: a result has no captions
      return <audio controls src={address} />
    case 'video':
      // biome-ignore lint/a11y/useMediaCaption: a result has no captions
      return <video controls src={address} />
    case 'pdf':
      return <PdfView blob={blob} />
    default:
      return <p class="quiet body">{texts.binary}</p>
  }
}

/** The browser's viewer needs a frame without a sandbox, so a person asks for it, and the bytes must be those of a PDF. */
function PdfView({ blob }: { blob: Blob }) {
  const [shown, setShown] = useState<'asked' | 'refused' | Blob>()
  if (shown instanceof Blob) return <PdfFrame blob={shown} />
  return (
    <div class="body">
      {shown === 'refused' && <Notice tone="warn">{texts.notPdf}</Notice>}
      {shown !== 'refused' && (
        <Button
          icon="eye"
          onClick={async () => {
            const isReal = await isPdf(blob)
            setShown(isReal ? new Blob([blob], { type: 'application/pdf' }) : 'refused')
          }}
        >
          {texts.showPdf}
        </Button>
      )}
    </div>
  )
}

function PdfFrame({ blob }: { blob: Blob }) {
  const address = useBlobAddress(blob)
  return address === undefined ? null : <iframe class="pdf" src={address} title={texts.pdfLabel} />
}

export function useBlobAddress(blob: Blob): string | undefined {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return address
}
