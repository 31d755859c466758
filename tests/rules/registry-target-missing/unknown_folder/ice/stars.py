from elsewhere import *
