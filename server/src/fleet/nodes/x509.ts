// The library looks up its parts by metadata, which the language does not have yet.
import 'reflect-metadata'

import * as x509 from '@peculiar/x509'

export { x509 }
